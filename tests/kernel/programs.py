"""Programs in the language of kernels: by hand, one for each construct, and drawn by a seed."""

from __future__ import annotations

import random

ONES = (-9, -4, -1, 0, 1, 2, 3, 5, 63, 64, 1 << 40, (1 << 63) - 1, -(1 << 63))
"""Numbers where signs, widths and shifts show."""

FUNCTIONS = {
    "floor": "return x // 3 * 1000 + x % 3 + x // 7 % 5",
    "floor by a negative": "return x // (0 - 3) * 10 + x % (0 - 3)",
    "floor by a variable": "return 0 if y == 0 or y == -1 else x // y + x % y",
    "shift to the right": "return x >> 3",
    "shift by a variable": "return x >> (y & 63)",
    "shift to the left": "return (x & 1023) << (y & 31)",
    "shift far": "return (x >> (64 + (y & 7))) + ((x & 1023) >> 70)",
    "unsigned shifts": "u = np.uint64(x)\nreturn np.int64((u >> np.uint64(y & 63)) ^ (u << np.uint64(7)))",
    "unsigned division": "u = np.uint64(x)\nreturn np.int64(u // np.uint64(10) ^ u % np.uint64(10))",
    "unsigned product": "u = np.uint64(x) * np.uint64(0x9E3779B97F4A7C15)\nreturn np.int64(u >> np.uint64(1))",
    "unsigned order": "return 1 if np.uint64(x) < np.uint64(y) else 0",
    "inverted": "return ~x & y | x & ~y",
    "inverted truth": "return ~(x < y)",
    "truths as numbers": "return (x < y) + (x == y) * 2 + (x > y) * 4 + (not x) * 8",
    "truth in a variable": "known = False\nif x > 0:\n    known = y\nreturn known + 1",
    "truths together": "cut = x == 1\ncut |= y == 2\ncut ^= x == y\nreturn cut & (x < 9)",
    "and of numbers": "return (x and y) + 0",
    "or of numbers": "return (x or y) + 0",
    "three in a row": "return (x and y and 7) ^ (0 or x or y)",
    "and, once computed": "n = 0\nif x > 0 and y > 0 or x < 0 and y < 0: n = 1\nreturn n",
    "not of and": "return 1 if not (x > 0 and y > 0) else 2",
    "chain": "return 1 if -4 <= x < y <= 64 else 0",
    "choice": "return (x if x < y else y) * 0 + (1 if x else 2)",
    "choice with work": "return (x % 7 if x > 0 else y % 5) + (3 if y > 0 and x % 2 else 4)",
    "choice of truths": "return (x < 2 if y > 0 else x > 5) + 0",
    "choice of tuples": "a, b = (x & 3, y & 3) if x < y else (7, 8)\nreturn a * 10 + b",
    "smallest": "return min(x, y, 5) ^ max(x, y, -2) ^ min(x < y, 1)",
    "absolute": "return abs(x & 255) + abs((x & 255) - 128)",
    "ranges that decide": "return 1 if (x & 7) > 1 else 2 if (y & 3) + 4 < 4 else 3 if (x & 1) + 2 == 3 else 4",
    "minus": "return -(x & 4095) - -7",
    "tuple order": (
        "a = (x & 3, y & 3)\nb = (y & 3, x & 3)\nreturn (a < b) + 2 * (a == b) + 4 * (a != b) + 8 * (a > b)"
    ),
    "tuple order, equal allowed": "a = (x & 1, y & 1)\nb = (y & 1, 0)\nreturn (a <= b) + 2 * (a >= b)",
    "tuples joined": "t = (x & 7,) + (y & 7, 3)\nreturn t[0] * 100 + t[1] * 10 + t[2] + len(t)",
    "table": "return (5, 3, 8, 1)[x & 3]",
    "tuple at a computed index": "t = (x & 7, y & 7, 4, 9)\nreturn t[(x ^ y) & 3]",
    "exchange": "a = x & 7\nb = y & 7\na, b = b, a\nreturn a * 8 + b",
    "while": "n = x & 31\nfound = 0\nwhile n:\n    if n & 1: found += n\n    n >>= 1\nreturn found",
    "while, left early": (
        "n = 0\nwhile True:\n    n += 1\n    if n * n > x & 255: break\n    if n > 9: continue\nreturn n"
    ),
    "range": "n = 0\nfor i in range(x & 7): n = n * 3 + i\nreturn n",
    "range from": "n = 0\nfor i in range(y & 3, x & 7): n = n * 9 + i\nreturn n",
    "range downward": "n = 0\nfor i in range(x & 7, y & 3, -1): n = n * 9 + i\nreturn n",
    "range with a step": "n = 0\nfor i in range(1, 12, (x & 3) + 1): n = n * 12 + i & 0xFFFFFFFF\nreturn n",
    "range and its variable": "n = 0\nfor i in range(4):\n    n = n * 9 + i\n    i += 5\nreturn n * 9 + i",
    "range, an end that changes": (
        "n = 3\nfound = 0\nfor i in range(n):\n    n += 1\n    found += i\nreturn found * 10 + n"
    ),
    "loops inside loops": """n = 0
for i in range(4):
    for j in range(4):
        if j == x & 3: continue
        if i == y & 3: break
        n += i * 4 + j
return n""",
    "parts of a tuple": (
        "n = 0\nfor each in (x & 7, y & 7, 2):\n    if each == 3: continue\n    n = n * 8 + each\nreturn n"
    ),
    "leaving the parts": (
        "n = 0\nfor each in (x & 7, y & 7, 2):\n    if each == 3: break\n    n = n * 8 + each\nreturn n"
    ),
    "a part that is kept": (
        "n = 0\nfor each in (x & 7, y & 7, 2):\n    if each == 3: break\n    kept = each\n    n += 1\n"
        "return each * 100 + (kept if n else 9) * 10 + n"
    ),
    "a call": "return helper(x & 7, y & 7) + helper(x < y, y & 1)",
    "a call of tuples": "a, t = paired(x & 7, y & 7)\nb, u = paired(2, 1)\nreturn (a + b) * 100 + t[0] * 10 + u[1]",
    "a call without a result": "store(x & 7)\nreturn y & 1",
    "early returns": "if x > y: return 1\nif x == y:\n    return 2\nelse:\n    return 3",
    "constants": "return (BITS << 3) + (1 << BITS) - 1 if LARGE else -BITS",
    "a constant that decides": "n = 1\nif SMALL: n = 2\nif not LARGE: n += 10\nreturn n if LARGE and x else 0 - n",
    "odd numbers": "return (x & 1) * ((1 << 62) - 1) + ((y & 1) * ((1 << 62) - 1))",
}
"""Bodies of functions of two numbers, by the construct that they show."""

HEAD = """
BITS = 5
SMALL = False
LARGE = True
WORDS = 2
FIRST, SECOND = range(2)


@jit
def helper(a, b):
    if a > b:
        return a > 3
    return a * 2 + b


@jit
def paired(a, b):
    return a + b, (b, a)


@inlined
def store(a):
    a += 1


"""


def program(body: str) -> str:
    """The text of a kernel with one entry ``main`` of two numbers."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{HEAD}@entry\ndef main(x, y):\n{lines}"


class Draw:
    """Draws programs. All numbers stay below 2^40, since Python's do not wrap."""

    def __init__(self, seed: int) -> None:
        self.draws = random.Random(seed)
        self.names = ["x", "y"]

    def number(self, depth: int) -> str:
        """An expression with a number from 0 to 2^16 - 1."""
        if depth == 0:
            return self.draws.choice([*self.names, str(self.draws.randrange(70))])
        one, two = self.number(depth - 1), self.number(depth - 1)
        return self.draws.choice(
            [
                f"({one} + {two} & 65535)",
                f"(({one} - {two}) & 65535)",
                f"({one} * {two} & 65535)",
                f"({one} // (1 + {two}))",
                f"({one} % (1 + {two}))",
                f"(({one} - 40000) // {self.draws.randrange(2, 9)} & 65535)",
                f"(({one} - 40000) % {self.draws.randrange(2, 9)})",
                f"({one} ^ {two})",
                f"({one} >> ({two} & 15))",
                f"(({one} << ({two} & 7)) & 65535)",
                f"({one} if {self.truth(depth - 1)} else {two})",
                f"min({one}, {two})",
                f"max({one}, {two}, 3)",
                f"abs({one} - {two})",
                f"int({self.truth(depth - 1)})",
                f"({one}, {two}, 7)[{self.number(0)} % 3]",
            ]
        )

    def truth(self, depth: int) -> str:
        """A condition."""
        sign = self.draws.choice(["<", "<=", "==", "!=", ">", ">="])
        if depth == 0:
            return f"({self.number(0)} {sign} {self.number(0)})"
        one, two = self.truth(depth - 1), self.truth(depth - 1)
        return self.draws.choice(
            [
                f"({self.number(depth - 1)} {sign} {self.number(depth - 1)})",
                f"({one} and {two})",
                f"({one} or {two})",
                f"({one} and {two} or {self.truth(0)})",
                f"(not {one})",
                f"(({self.number(0)}, {self.number(0)}) {sign} ({self.number(0)}, {self.number(0)}))",
            ]
        )

    def body(self, depth: int, loops: int = 0) -> list[str]:
        """Statements that end."""
        lines: list[str] = []
        for _ in range(self.draws.randrange(1, 4)):
            inside = [f"    {line}" for line in self.body(depth - 1, loops)] if depth else ["    pass"]
            match self.draws.randrange(7 if depth else 2):
                case 0 | 1:
                    name = self.draws.choice(["x", "y", "a", "b"])
                    lines.append(f"{name} = {self.number(2)}")
                    self.names.append(name) if name in self.names else None
                case 2:
                    lines += [f"if {self.truth(2)}:", *inside]
                case 3:
                    other = [f"    {line}" for line in self.body(depth - 1, loops)]
                    lines += [f"if {self.truth(1)}:", *inside, "else:", *other]
                case 4 if self.draws.random() < 0.3:
                    inner = [f"    {line}" for line in self.body(depth - 1, loops + 1)]
                    lines += [f"for i{loops} in ({self.number(1)}, {self.number(1)}, 7):", *inner, f"x ^= i{loops}"]
                case 4:
                    inner = [f"    {line}" for line in self.body(depth - 1, loops + 1)]
                    lines += [f"for i{loops} in range({self.number(0)} % 4):", *inner]
                case 5:
                    leave = self.draws.choice(["break", "continue"]) if loops else f"return {self.number(1)}"
                    lines.append(f"if {self.truth(1)}: {leave}")
                case _:
                    lines.append(f"x, y = {self.number(1)}, {self.number(1)}")
        return lines

    def program(self) -> str:
        """A whole program."""
        lines = ["x &= 65535", "y &= 65535", "a = 1", "b = x < y"]
        self.names += ["a", "b"]
        lines += [*self.body(3), f"return x + y * 3 + a * 5 + b * 7 + {self.number(2)}"]
        return program("\n".join(lines))
