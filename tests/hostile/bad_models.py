"""Bad model files: good ones with words replaced and lines moved, and files written to do harm."""

from __future__ import annotations

import random

from tests.cli.samples import COUNTER
from tests.cli.test_fuzz import mutant

HEAD, BODY = COUNTER.split("class Counter", 1)
DIGITS = "9" * 5000
GROWN = "any(self.value[n] == Count(2) for n in Node)"

WRITTEN = (
    b"",
    b"\x00",
    b"\xff\xfe\x00",
    b"\xef\xbb\xbf" + COUNTER.encode(),
    COUNTER.replace("\n", "\r").encode(),
    COUNTER.replace("\n", "\r\n").encode(),
    b"raise SystemExit(3)\n",
    b"raise KeyboardInterrupt\n",
    b"raise GeneratorExit\n",
    b"class Odd(BaseException): ...\nraise Odd('a' * 5000)\n",
    b"class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd\n",
    b"class Odd(Exception):\n    def __str__(self): return 7\nraise Odd\n",
    b"class Odd(SyntaxError):\n    lineno = 'x'; offset = -1; text = 7; filename = 8; msg = None\nraise Odd\n",
    b"raise SyntaxError\n",
    b"assert False\n",
    b"raise MemoryError\n",
    b"raise RecursionError\n",
    b"raise ImportError(name='yaml')\n",
    b"raise ModuleNotFoundError(name=7)\n",
    b"def f(): f()\nf()\n",
    b"import does_not_exist_anywhere\n",
    b"import os\nos.close(1)\n",
    b"import sys\nsys.stdout.close()\n",
    b"import sys\nsys.stdout = sys.stderr = None\n",
    b"import os\nos.unlink(__file__)\n" + COUNTER.replace("from __future__ import annotations\n", "").encode(),
    b"import os\nopen(__file__, 'w').close()\n" + COUNTER.replace("from __future__ import annotations\n", "").encode(),
    b"import os\nos.chdir('/')\n" + COUNTER.replace("from __future__ import annotations\n", "").encode(),
    b"import sys\nsys.setrecursionlimit(80)\n",
    b"import sys\ndel sys.modules[__name__]\n" + COUNTER.replace("from __future__ import annotations\n", "").encode(),
    b"__file__ = None\n" + COUNTER.replace("from __future__ import annotations\n", "").encode(),
    b"x = " + b"(" * 300 + b")" * 300 + b"\n",
    b"x = " + b"-" * 20_000 + b"1\n",
    b"x = " + b"a." * 20_000 + b"b\n",
    b"x = " + DIGITS.encode() + b"\n",
    b"x = '" + b"a" * 5000 + b"\n",
    COUNTER.replace("Count(2)", f"Count({DIGITS[:4000]})").encode(),
    COUNTER.replace("Count: 2", "Count: 10 ** 5000").encode(),
    COUNTER.replace("Count: 2", "Count: -1").encode(),
    COUNTER.replace("Count: 2", f"Count: {2**63}").encode(),
    COUNTER.replace("Node: 2", "Node: 0").encode(),
    COUNTER.replace("Node: 2", "Node: 1e3").encode(),
    COUNTER.replace("Node: 2", "Node: True").encode(),
    COUNTER.replace("CT-01", "CT-01\\x1b[31m").encode(),
    COUNTER.replace("CT-01", "").encode(),
    COUNTER.replace("CT-01", "a" * 3000).encode(),
    COUNTER.replace("Some counter has grown.", "\x1b]0;title\x07\u202egrown").encode(),
    COUNTER.replace("grow", "wächst").encode(),
    COUNTER.replace("grow", "a" * 3000).encode(),
    COUNTER.replace(GROWN, "not " * 2000 + "True").encode(),
    COUNTER.replace(GROWN, " and ".join(["True"] * 5000)).encode(),
    COUNTER.replace("        self.value[n] = c\n", "        self.value[n] = c\n" * 3000).encode(),
    (HEAD + "class Counter" + BODY + "\n\nAlias = Counter\n").encode(),
    (HEAD + "class Counter" + BODY + "\n\nclass Other" + BODY).encode(),
    (HEAD + "class Counter" + BODY + "\n\nKept = Counter\n\n\nclass Counter" + BODY).encode(),
    (HEAD + "class Counter" + BODY.split("    @action")[0]).encode(),
    (HEAD + "class Counter" + BODY.split("    @init")[0]).encode(),
    (HEAD + "class Counter" + BODY.split("    @invariant")[0]).encode(),
    (HEAD + "class Counter(Model): ...\n").encode(),
    (HEAD + "class Counter(Model, int): ...\n").encode(),
    (HEAD + "class Counter(Counter): ...\n").encode(),
    (HEAD + "def made():\n    class Counter(Model):\n        a: bool\n    return Counter\nCounter = made()\n").encode(),
    (HEAD + "Counter = type('Counter', (Model,), {})\n").encode(),
    (HEAD + "class Counter" + BODY + "\nCounter.__name__ = '\\x1b[2J'\n").encode(),
    (HEAD + "class Counter" + BODY + "\nCounter.value = 7\n").encode(),
    (HEAD + "class Counter" + BODY + "\nCounter.grow = Counter.zero\n").encode(),
    (HEAD + "class Counter" + BODY + "\nCounter.__module__ = 'os'\n").encode(),
)  # fmt: skip
"""Files whose import fails in odd ways, and models with odd values and names."""


def bad_model(chance: random.Random) -> bytes:
    """A bad model file."""
    if chance.random() < 0.4:
        return chance.choice(WRITTEN)
    return mutant(COUNTER, chance)
