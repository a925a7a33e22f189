"""The names that a template finds in the text before it: functions and constants of one model in one scope.

Linters and type checkers read this file. Nothing runs it: ``build.py`` puts a template behind the functions that
``source.py``, ``walk_source.py`` or ``graph_source.py`` writes, and drops the template's head, imports included.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
State = tuple[int, ...]
Word = int | np.integer[Any]

# The kinds of the parameters of entries: see ``llvm/kinds.py``. A parameter without annotation is a number.
Unsigned = np.uint64
Line = NDArray[np.int64]
Rows = NDArray[np.int64]
Blocks = NDArray[np.int64]
Line32 = NDArray[np.int32]
Line16 = NDArray[np.uint16]
Line8 = NDArray[np.uint8]

# Decorators (see ``llvm/text.py``) and memory. An address is a number that counts bytes, an index counts words of 8
# bytes. An address is valid as long as some Python object holds its array; nothing checks that, or an index. The words
# that ``reserve`` gives hold anything at first, and are valid until the function returns.
def jit(function: F) -> F: ...
def entry(function: F) -> F: ...
def inlined(function: F) -> F: ...
def address(array: Any) -> int: ...
def peek(start: Word, index: Word) -> int: ...
def poke(start: Word, index: Word, value: Word) -> None: ...
def prefetch(start: Word, index: Word) -> None: ...
def reserve(words: int) -> int: ...

# States and rows.
WORDS: int
ROW_WORDS: int
FAN: int
REDUCED: bool

def load(rows: Word, row: Word) -> State: ...
def put(rows: Word, row: Word, state: State) -> None: ...
def holds(rows: Word, row: Word, state: State) -> bool: ...
def hashed(state: State) -> Any: ...
def canonical(state: State) -> State: ...
def state_rank(state: State) -> State: ...
def successors(state: State, rows: Word, notes: int) -> int: ...

# Canonical states of large groups: see ``canonical_source.py``.
CELLS: int
ELEMENTS: int

def begin_colours(colours: int) -> None: ...
def name_by_colour(colours: int, names: int) -> None: ...
def renamed(state: State, names: int, codes: int) -> State: ...
def add_signatures(state: State, colours: int, signatures: int) -> None: ...

# Properties. ``asked`` is a bit mask of the properties to look at.
HAS_FINALS: bool
HAS_WITNESSES: bool

def invariants(state: State) -> int: ...
def invariants_failing(state: State, asked: int) -> int: ...
def premises(state: State, asked: int) -> int: ...
def witnesses(state: State, asked: int) -> int: ...
def finals(state: State, asked: int) -> int: ...

# Places in the notes of a search: see ``notes.py``.
BOUNDS: int
COUNTS: int
CUTS: int
ENDS: int
PENDING: int
REACHED: int
REPEATED: int
REPEATS: int
STATES: int
STEPS: int

# Random runs: see ``walk_source.py`` and ``walks.py``.
ACTIONS: int
CHANCE: int
HITS: int
LEFT: int
LISTED_FOR_A_TRY: int
MET: int
MOST_TRIES: int
ORDER: int
PAIRS: int
POINTS: int
PRIORITISED: int
PROCESSES: int
SAMPLED: bool
SILENT: int
STATE_BITS: int
STRIDES: int
SWARM: int
TAKEN: int
UNREACHED: int
WEIGHTS: int

def choices(action: int) -> int: ...
def attempt(action: int, state: State, number: int, listed: int) -> bool: ...
def spread(state: State, seen: int) -> None: ...
def offers(action: int, state: State, listed: int) -> int: ...
def judge(action: int, new: State, state: State, number: int, counts: int) -> int: ...
def list_step(listed: int, row: Word, number: int, new: State) -> None: ...
def number_of(listed: int, row: Word) -> int: ...
def state_of(listed: int, row: Word) -> State: ...
def outline(state: State) -> State: ...

# State graphs: see ``graph_source.py``.
CUT_FLAGS: int
FLAGS: int
FLAG_WORDS: int
FREE: int
LABELS: int

# Comparisons: see ``comparing.py``.
def differs(state: State, wanted: int, whole: int, mutant: int) -> bool: ...
