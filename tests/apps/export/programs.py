"""Random rules in the subset of Python that compiles: text of a module with helpers and a rule.

A program is drawn by types, so that Python and C agree on what is a whole number: names that begin
with x are floats, with n integers, with b truths.
"""

NAMES = {"s": ("cwnd", "ssthresh", "one", "two", "three"), "a": ("now", "rtt", "acked", "window")}
SIZE = 4  # of the array s.many


class Drawn:
    """One program, drawn with a `random.Random`."""

    def __init__(self, draw):
        self.draw = draw
        self.helpers = []  # name, whether it has effects
        self.x, self.n, self.b = [], [], []
        self.depth = 0
        self.loops = 0
        self.fresh = 0

    # Expressions

    def one(self, *choices):
        return self.draw.choice(choices)()

    def floats(self, depth=3, calls=True):
        d = depth - 1
        if depth <= 0:
            return self.leaf()
        f, i, c = (lambda: self.floats(d, calls)), (lambda: self.ints(d)), (lambda: self.truth(d))
        choices = [
            self.leaf,
            self.leaf,
            lambda: f"({f()} {self.draw.choice('+-*/')} {f()})",
            lambda: f"({f()} {self.draw.choice('+-*')} {f()})",
            lambda: f"({f()} {self.draw.choice('+-*')} {i()})",
            lambda: f"({i()} / {self.draw.randint(1, 9)})",
            lambda: f"-{self.leaf()}",
            lambda: f"max({f()}, {f()})",
            lambda: f"min({f()}, {f()}, {f()})",
            lambda: f"abs({f()})",
            lambda: f"float({i()})",
            lambda: f"({f()} if {c()} else {f()})",
            lambda: f"({f()} and {f()})",
            lambda: f"({f()} or {f()})",
            lambda: f"math.sqrt(abs({f()}))",
            lambda: f"math.exp(min({f()}, 20.0))",
            lambda: f"math.log(abs({f()}) + 1.5)",
            lambda: f"math.cbrt({f()})",
            lambda: f"abs({f()}) ** {self.draw.choice(['0.5', 'p.gain', '(1 / 3)', 'a.rtt'])}",
            lambda: f"({f()} // {f()})",
            lambda: f"({f()} % {f()})",
            lambda: f"float(math.floor({self.near()}))",
            lambda: f"float(math.ceil({self.near()}))",
            lambda: f"float(round({self.near()}))",
            lambda: f"s.many[{i()} % {SIZE}]",
            lambda: f"TABLE[{i()} % 5]",
        ]
        if calls and self.helpers:
            choices += [self.call] * 3
        return self.one(*choices)

    def near(self):
        return f"min(max({self.floats(1, False)}, -1e6), 1e6)"

    def leaf(self):
        d = self.draw
        return self.one(
            lambda: repr(d.choice([0.0, 1.0, 0.5, 2.0, 1e-3, 100.0, d.uniform(-9, 9)])),
            lambda: d.choice(self.x) if self.x else "1.5",
            lambda: f"s.{d.choice(NAMES['s'])}",
            lambda: f"a.{d.choice(NAMES['a'])}",
            lambda: d.choice(["p.gain", "p.limit", "GAIN", f"s.many[{d.randrange(-SIZE, SIZE)}]"]),
        )

    def call(self):
        name = self.draw.choice(self.helpers)
        x, y = self.floats(1, False), self.floats(1, self.draw.random() < 0.2)
        given = self.draw.choice([f"{x}, {y}", x, f"{x}, y={y}", f"y={y}, x={x}"])
        return f"{name}(s, p, a, {given})"

    def ints(self, depth=2):
        d = self.draw
        if depth <= 0:
            return d.choice(self.n) if self.n and d.random() < 0.6 else str(d.randint(-9, 9))
        i = lambda: self.ints(depth - 1)  # noqa: E731
        return self.one(
            i,
            lambda: f"({i()} {d.choice('+-')} {i()})",
            lambda: f"({i()} * {d.randint(-3, 3)})",
            lambda: f"(({i()} * {i()}) % 1009)",
            lambda: f"({i()} // {d.choice([-7, -2, 2, 3, 10])})",
            lambda: f"({i()} % {d.choice([-7, -2, 2, 3, 10])})",
            lambda: f"({i()} // {i()})",
            lambda: f"max({i()}, {i()})",
            lambda: f"min({i()}, {i()})",
            lambda: f"abs({i()})",
            lambda: f"({i()} {d.choice('&|^')} {i()})",
            lambda: f"({i()} >> {d.randint(0, 5)})",
            lambda: f"({i()} if {self.truth(1)} else {i()})",
            lambda: f"int({self.near()})",
            lambda: f"math.floor({self.near()})",
            lambda: f"round({self.near()})",
            lambda: "len(TABLE)",
            lambda: f"int({self.truth(1)})",
            lambda: "COUNT",
        )

    def truth(self, depth=2):
        d = self.draw
        if depth <= 0:
            return d.choice(self.b) if self.b and d.random() < 0.5 else f"({self.leaf()} > 1.0)"
        f, c = (lambda: self.floats(depth - 1, d.random() < 0.3)), (lambda: self.truth(depth - 1))
        sign = lambda: d.choice(["<", "<=", ">", ">=", "==", "!="])  # noqa: E731
        return self.one(
            lambda: f"({f()} {sign()} {f()})",
            lambda: f"({self.leaf()} {sign()} {self.leaf()} {sign()} {self.leaf()})",
            lambda: f"({self.ints(1)} {sign()} {self.ints(1)})",
            lambda: f"({self.ints(1)} {sign()} {self.leaf()})",
            lambda: f"(not {c()})",
            lambda: f"({c()} and {c()})",
            lambda: f"({c()} or {c()} or {c()})",
            lambda: f"bool({f()})",
            lambda: f"({self.ints(1)} in (1, 2, {self.ints(1)}))",
            lambda: f"math.isinf({f()})",
        )

    # Statements

    def name(self, kind):
        known = getattr(self, kind)
        if known and self.draw.random() < 0.5:
            return self.draw.choice([n for n in known if not n.endswith("k")] or ["_"])
        self.fresh += 1
        return f"{kind}{self.fresh}"

    def place(self):
        choices = [
            lambda: f"s.{self.draw.choice(NAMES['s'])}",
            lambda: f"s.many[{self.draw.randrange(SIZE)}]",
            lambda: f"s.many[{self.ints(1)} % {SIZE}]",
        ]
        if self.helpers:
            choices.append(lambda: f"s.many[int(min(max({self.call()}, 0.0), 9.0)) % {SIZE}]")
        return self.one(*choices)

    def assigned(self):
        kind = self.draw.choice("xxxnb")
        value = {"x": self.floats, "n": self.ints, "b": self.truth}[kind]()
        name = self.name(kind)
        if name == "_":
            return ["pass"]
        if name not in getattr(self, kind):
            getattr(self, kind).append(name)
        return [f"{name} = {value}"]

    def statement(self):
        d = self.draw
        choices = [
            self.assigned,
            self.assigned,
            lambda: [f"{self.place()} = {self.floats()}"],
            lambda: [f"{self.place()} = {self.floats()}"],
            lambda: [f"{self.place()} {d.choice(['+=', '-=', '*=', '/='])} {self.floats(2)}"],
            lambda: [f"s.one, s.two = s.two, {self.floats(2)}"],
            lambda: ["s.many[0], s.many[1] = s.many[1], s.many[0]"],
            lambda: [f"{self.place()}, {self.place()} = {self.floats(2)}, {self.floats(1)}"],
            lambda: [f"s.three = s.one = {self.floats(2)}"],
            lambda: [f"s.count = {self.ints()}"],
            lambda: [f"s.count += {self.ints(1)}"],
            lambda: [f"s.two = s.count * {self.leaf()}"],
        ]
        if self.x:
            choices.append(
                lambda: [f"{d.choice(self.x)} {d.choice(['+=', '*='])} {self.floats(1)}"]
            )
        if self.helpers:
            choices += [lambda: [self.call()]] * 2
        if self.depth < 2:
            choices += [self.branch, self.branch, self.counted, self.repeated, self.over_table]
        return self.one(*choices)

    def block(self, most=3):
        """Statements; names that begin here are not known after."""
        known = list(self.x), list(self.n), list(self.b)
        self.depth += 1
        lines = [line for _ in range(self.draw.randint(1, most)) for line in self.statement()]
        self.depth -= 1
        self.x, self.n, self.b = known
        return [f"    {line}" for line in lines]

    def branch(self):
        lines = [f"if {self.truth()}:", *self.block()]
        if self.draw.random() < 0.3:
            lines += [f"elif {self.truth()}:", *self.block()]
        if self.draw.random() < 0.5:
            lines += ["else:", *self.block()]
        return lines

    def counted(self):
        self.loops += 1
        name = f"n{self.loops}k"
        bounds = self.draw.choice(["3", "1, 4", "5, 0, -2", "0, int(s.count) % 4"])
        self.n.append(name)
        body = self.block()
        if self.draw.random() < 0.3:
            word = self.draw.choice(["break", "continue"])
            body = [f"    if {self.truth(1)}:", f"        {word}", *body]
        self.n.remove(name)
        return [f"for {name} in range({bounds}):", *body]

    def repeated(self):
        self.loops += 1
        name = f"n{self.loops}k"
        return [
            f"{name} = 0",
            f"while {name} < {self.draw.randint(1, 5)} and {self.truth()}:",
            f"    {name} += 1",
            *self.block(),
        ]

    def over_table(self):
        self.loops += 1
        name = f"x{self.loops}k"
        self.x.append(name)
        body = self.block()
        self.x.remove(name)
        over = self.draw.choice(["TABLE", "s.many", "(s.one, s.two)"])
        return [f"for {name} in {over}:", *body]

    def function(self, head, returns):
        self.x, self.n, self.b = (["x", "y"] if returns else []), [], []
        body = []
        if self.draw.random() < 0.3:
            early = f"return {self.floats(1)}" if returns else "return"
            body = [f"if {self.leaf()} > {self.leaf()}:", f"    {early}"]
        body += [line for _ in range(self.draw.randint(1, 5)) for line in self.statement()]
        if returns:
            body.append(f"return {self.floats()}")
        return "\n".join([f"def {head}:", *(f"    {line}" for line in body)])

    def module(self):
        parts = ["import math", "GAIN, COUNT = 0.75, 6", "TABLE = (1.0, 2.5, -3.0, 4.0, 1e-3)"]
        for k in range(self.draw.randint(0, 2)):
            parts.append(self.function(f"h{k}(s, p, a, x, y=2.5)", True))
            self.helpers.append(f"h{k}")
        parts.append(self.function("on_ack(s, p, a)", False))
        return "\n\n\n".join(parts) + "\n"
