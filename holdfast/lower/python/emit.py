"""From the bodies of actions to Python functions, for one scope.

A body reads the state from ``s``. Before its first write it copies the state to ``c``, and from there on it reads and
writes ``c``: later statements see earlier writes, and ``s`` does not change. Loops over elements are written out, so
one jump (``leave``) ends the instance from anywhere in the body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from holdfast.ir.errors import Place
from holdfast.ir.expr import Expr, Name, Ruled, negate, walk
from holdfast.ir.shortages import asks_beyond
from holdfast.ir.stmt import (
    Assign,
    Fill,
    For,
    If,
    Let,
    Require,
    Stmt,
    Within,
    direct_expressions,
    expressions,
    is_check,
    statements,
)
from holdfast.ir.system import Action, Param
from holdfast.ir.types import BUDGET, NatType, OptionalType, Scalar
from holdfast.lower.layout import Field, Layout
from holdfast.lower.python.expression_text import PythonExpressions, origin
from holdfast.lower.python.instance_ends import InstanceEnds
from holdfast.lower.python.names import code_name, local_name
from holdfast.lower.python.prune import prune
from holdfast.lower.python.terms import FALSE, TRUE, Term, literal, subtract, term, truth


class Emitter(PythonExpressions):
    """Writes the function of one action. Subclasses may replace any method, as the kernel's emitter and tests do."""

    def __init__(self, layout: Layout, what: str, sink: InstanceEnds) -> None:
        super().__init__(layout, what)
        self.sink = sink
        self.lines: list[str] = []
        self.depth = 0
        self.leave = "return out"
        """The statement that ends the present instance without a result: ``continue`` inside a parameter's loop."""

    # Functions ------------------------------------------------------------------------------------------------

    def every_instance(self, name: str, action: Action) -> str:
        """A function from a state to the list of all results of the action's instances."""
        with self.function(f"{name}(s)"):
            self.line("out = []")
            self.all_steps(action)
            self.depth = 1
            self.line("return out")
        return self.source()

    def all_steps(self, action: Action) -> None:
        """Write the action's body in loops over its parameters. The sink writes the end of each instance.

        A parameter's loop opens just before the first statement that needs it. So a rule over few parameters can
        refuse all combinations of the others at once. All loops are open before the first write.
        """
        self._path(prune(action.body, self.layout.dropped), list(action.params), [], action)

    def _path(self, body: Sequence[Stmt], waiting: list[Param], put_off: list[Let], action: Action) -> None:
        """Write the rest of a body. ``waiting``: the parameters without a loop; ``put_off``: values without a name."""
        for place, stmt in enumerate(body):
            if isinstance(stmt, Let) and not any(isinstance(part, Ruled) for part in walk(stmt.value)):
                # It is computed where it is needed: the rules before that may need fewer parameters.
                put_off.append(stmt)
                continue
            if isinstance(stmt, If) and not writes(stmt) and not is_check(stmt):
                self._need(direct_expressions(stmt), waiting, put_off)
                if any(mentions((stmt,), param) for param in waiting):
                    self._fork(stmt, body[place + 1 :], waiting, put_off, action)
                    return
            # All of them before a write, because each instance must write to a copy of its own, and because a value
            # is that of the state before. All of them also before a bound, because each instance counts that it cuts.
            if writes(stmt) or is_check(stmt):
                self._open(waiting, list(waiting))
                self._name(put_off, list(put_off))
            else:
                self._need(expressions((stmt,)), waiting, put_off)
            if isinstance(stmt, If) and self._split(stmt, body[place + 1 :], waiting, put_off, action):
                return
            # The rest of the body is never reached, so no instance completes.
            if not self.statement(stmt):
                return
        self._open(waiting, list(waiting))
        self.complete(action)

    def _fork(self, stmt: If, rest: Sequence[Stmt], waiting: list[Param], put_off: list[Let], action: Action) -> None:
        """Write the rest of a body once for each outcome of a test: either may refuse before all loops are open."""
        self.count()
        self.at = stmt.at
        test, marks = self.tested(stmt)
        bodies = [((*stmt.then, *rest), marks), ((*stmt.orelse, *rest), [])]
        if test.constant:
            # Only the body that runs is written: the other one may not fit the scope.
            then, marked = bodies[not test.lo]
            for text in marked:
                self.line(text)
            self._path(then, waiting, put_off, action)
            return
        before = self.depth, self.leave, dict(self.names)
        for head, (then, marked) in zip((f"if {test.text}:", "else:"), bodies, strict=True):
            self.line(head)
            with self.indented():
                for text in marked:
                    self.line(text)
                self._path(then, list(waiting), list(put_off), action)
                self.depth = before[0] + 1
            _, self.leave, self.names = before[0], before[1], dict(before[2])
            self.state = "s"

    def _split(self, stmt: If, rest: Sequence[Stmt], waiting: list[Param], put_off: list[Let], action: Action) -> bool:  # noqa: ARG002
        """Whether a subclass has written the rest of a body, from a test on."""
        return False

    def _need(self, exprs: Iterable[Expr], waiting: list[Param], put_off: list[Let]) -> None:
        """Open the loops that expressions need, and name the values that they need."""
        names = _names(exprs)
        wanted = [let for let in put_off if let.name in names]
        # A value may need another one, which was put off before it.
        while more := [
            let for let in put_off if let not in wanted and let.name in _names(each.value for each in wanted)
        ]:
            wanted += more
        lets = [let for let in put_off if let in wanted]
        names |= _names(let.value for let in lets)
        self._open(waiting, [param for param in waiting if param.name in names])
        self._name(put_off, lets)

    def _open(self, waiting: list[Param], params: Sequence[Param]) -> None:
        for param in params:
            self.choice(param)
            waiting.remove(param)

    def _name(self, put_off: list[Let], lets: Sequence[Let]) -> None:
        for let in lets:
            self.statement(let)
            put_off.remove(let)

    def one_instance(self, name: str, action: Action) -> str:
        """A function from a state and arguments to the result of that instance."""
        with self.function(f"{name}(s, args)"):
            for position, param in enumerate(action.params):
                self.line(f"{code_name(param)} = args[{position}]")
                self.parameter(param, code_name(param))
            if self.block(prune(action.body, self.layout.dropped)):
                self.complete(action)
        return self.source()

    def source(self) -> str:
        """The text written so far."""
        return "\n".join(self.lines) + "\n"

    @contextmanager
    def function(self, head: str) -> Iterator[None]:
        """Write the head of a function; what is written inside the ``with`` is its body."""
        self.line(f"def {head}:")
        self.depth += 1
        yield
        self.depth = 0

    def line(self, text: str) -> None:
        """Write one line."""
        self.lines.append("    " * self.depth + text)

    def choice(self, param: Param) -> None:
        """Open a loop over the values of a parameter. All lines that follow stand in its body."""
        self.line(f"for {code_name(param)} in {tuple(range(self.layout.codes(param.type)))}:")
        self.depth += 1
        self.leave = "continue"
        self.parameter(param, code_name(param))

    def complete(self, action: Action) -> None:
        """Write the end of a body that no rule refused: charge the budget, and give the result."""
        cell = self.layout.budget(action.name)
        if cell is not None:
            if self.state == "s":
                self.copy()
            with self.when(truth(f"not c[{cell}]")):
                self.cut(BUDGET, None)
            self.line(f"c[{cell}] -= 1")
        args = " ".join(f"{code_name(param)}," for param in action.params)
        for text in self.sink.taken("bytes(c)" if self.state == "c" else "s", f"({args})"):
            self.line(text)

    # Statements: each method returns whether the instance can go on after it ----------------------------------

    def block(self, body: tuple[Stmt, ...]) -> bool:
        """Write statements in order, up to a sure end. Later ones are never reached, and may not fit the scope."""
        return all(self.statement(stmt) for stmt in body)

    def statement(self, stmt: Stmt) -> bool:
        """Write one statement."""
        self.count()
        self.at = stmt.at
        if self.state == "s" and writes(stmt):
            self.copy()
        match stmt:
            case Require():
                return self.require(stmt)
            case Assign():
                return self.assign(stmt)
            case Fill():
                return self.fill(stmt)
            case Let():
                return self.let(stmt)
            case If():
                return self.branch(stmt)
            case For():
                return self.loop(stmt)
            case Within(_, kind, at, str(pool)):
                return self.limited(self.layout.field(pool), kind, at)
            case Within(value, kind, at):
                return self.admitted(self.expr(value), kind, at) is not None

    def copy(self) -> None:
        """Copy the state; from here on, the text reads and writes the copy."""
        self.line("c = bytearray(s)")
        self.state = "c"

    def require(self, stmt: Require) -> bool:
        """Refuse the instance unless the condition holds."""
        failed = self.conjunction(iter((self.standing(stmt.label), self.expr(negate(stmt.cond)))))
        if failed == FALSE:
            return True
        with self.when(failed):
            self.shortages(stmt)
            for text in self.sink.refuse(stmt, self.leave):
                self.line(text)
        return not failed.constant

    def shortages(self, stmt: Require) -> None:
        """Note each parameter of which a rule that fails asks for more than its last value."""
        last = {name: self.layout.last(param.type) for name, param in self.ordered.items()}
        for name, beyond in asks_beyond(stmt.cond, last):
            note = self.sink.shortage(self.ordered[name], stmt.at)
            test = self.expr(beyond) if note else FALSE
            if test != FALSE:
                with self.when(test):
                    for text in note:
                        self.line(text)

    def assign(self, stmt: Assign) -> bool:
        """Write one cell."""
        code = self.admitted(self.expr(stmt.value), self.layout.field(stmt.var).type, stmt.at)
        if code is not None:
            self.line(f"c[{self.cell(stmt.var, stmt.keys).text}] = {code.text}")
        return code is not None

    def fill(self, stmt: Fill) -> bool:
        """Write every cell of a variable."""
        field = self.layout.field(stmt.var)
        code = self.admitted(self.expr(stmt.value), field.type, stmt.at)
        if code is not None:
            self.line(f"c[{field.offset}:{field.offset + field.count}] = bytes(({code.text},)) * {field.count}")
        return code is not None

    def admitted(self, value: Term, kind: Scalar, at: Place) -> Term | None:
        """The code to store for a value. Writes a check if it may exceed a bound; returns None if it surely does."""
        code = self.fits(subtract(value, literal(origin(kind))))
        last = self.layout.codes(kind) - 1
        if code.lo >= 0 and code.hi <= last:
            return code
        plain = kind.of if isinstance(kind, OptionalType) else kind
        if code.hi < 0 or code.lo > last:
            self.cut(str(plain), at)
            return None
        # Under a name, because the check and the store both use it.
        code = self.kept(self.scratch("v"), code)
        beyond = f"{code.text} > {last}" if code.lo >= 0 else f"not 0 <= {code.text} <= {last}"
        with self.when(truth(beyond)):
            self.cut(str(plain), at)
        return term(code.text, max(code.lo, 0), min(code.hi, last))

    def limited(self, pool: Field, kind: NatType, at: Place) -> bool:
        """Write the check that a pool has not more members than its bound."""
        most = self.layout.codes(kind) - 1
        if pool.count > most:
            with self.when(truth(f"{self.members(pool)} > {most}")):
                self.cut(str(kind), at)
        return True

    def members(self, pool: Field) -> str:
        """The number of members of a pool, as text."""
        return f"{self.state}.count(1, {pool.offset}, {pool.offset + pool.count})"

    def cut(self, bound: str, at: Place | None) -> None:
        """Write the end of an instance that exceeds a bound."""
        for text in self.sink.cut(bound, at, self.leave):
            self.line(text)

    def let(self, stmt: Let) -> bool:
        """Assign a value to a local. Each turn of a loop that is written out assigns to a variable of its own."""
        value = self.expr(stmt.value)
        self.names[stmt.name] = value if value.constant else self.kept(local_name(stmt.name, self.fresh()), value)
        return True

    def kept(self, name: str, value: Term) -> Term:
        """Assign a value to a Python name; returns the name as a term."""
        self.line(f"{name} = {value.text}")
        return Term(name, value.lo, value.hi)

    def branch(self, stmt: If) -> bool:
        """Run one of two bodies."""
        test, marks = self.tested(stmt)
        if test.constant:
            # Only the body that runs is written: the other one may not fit the scope.
            if not test.lo:
                return self.block(stmt.orelse)
            for text in marks:
                self.line(text)
            return self.block(stmt.then)
        with self.when(test):
            for text in marks:
                self.line(text)
            then_goes_on = self.block(stmt.then)
        orelse_goes_on = True
        if stmt.orelse:
            self.line("else:")
            with self.indented():
                orelse_goes_on = self.block(stmt.orelse)
        return then_goes_on or orelse_goes_on

    def tested(self, stmt: If) -> tuple[Term, list[str]]:
        """The test, and the lines that note that its rule is decisive where it holds."""
        if not isinstance(stmt.test, Ruled):
            return self.expr(stmt.test), []
        marks = self.sink.decisive(stmt.test.label)
        return self.conjunction(iter((self.standing(stmt.test.label), self.expr(stmt.test.arg)))), marks

    def standing(self, label: str) -> Term:  # noqa: ARG002 - the kernel's emitter needs the label
        """Whether the system has a rule. True here: a mutant's system does not contain the rules it lacks."""
        return TRUE

    def ruled(self, label: str, cond: Term) -> Term:
        """A labelled condition inside an expression. If it holds, a second conjunct notes that, and is always true."""
        note = self.sink.note(label)
        return cond if cond == FALSE or note is None else truth(f"({cond.text} and {note})")

    def loop(self, stmt: For) -> bool:
        """Run a body for every element of a domain."""
        return all(self.block(stmt.body) for _ in self.elements(stmt.var, stmt.domain))

    @contextmanager
    def when(self, test: Term) -> Iterator[None]:
        """Write an ``if`` around the lines inside the ``with``, unless the test surely holds."""
        if test == TRUE:
            yield
            return
        self.line(f"if {test.text}:")
        with self.indented():
            yield

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Indent the lines inside the ``with``; writes ``pass`` if there are none."""
        start = len(self.lines)
        self.depth += 1
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1


def writes(stmt: Stmt) -> bool:
    """Whether a statement may change the state."""
    return any(isinstance(part, Assign | Fill) for part in statements((stmt,)))


def mentions(body: tuple[Stmt, ...], param: Param) -> bool:
    """Whether statements name a parameter."""
    return param.name in _names(expressions(body))


def _names(exprs: Iterable[Expr]) -> set[str]:
    """The names of parameters and locals in expressions."""
    return {part.name for expr in exprs for part in walk(expr) if isinstance(part, Name)}
