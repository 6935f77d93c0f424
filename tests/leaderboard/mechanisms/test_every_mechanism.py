"""What holds for every mechanism: built-in ones, boards of places, and one of another package."""

import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbench.errors import BadRequest
from jaxbench.leaderboard import Interface
from jaxbench.leaderboard.mechanisms import Submission, run
from jaxbench.leaderboard.mechanisms.boards import ranked_part
from jaxbench.leaderboard.mechanisms.build import build
from jaxbench.leaderboard.mechanisms.chain import MechanismChain
from jaxbench.leaderboard.mechanisms.registry import BUILDERS, SCHEDULES
from jaxbench.options.choosing import as_option, mechanism
from jaxbench.options.mechanism import BY_NAME, MECHANISMS, spell
from jaxbench.options.mechanism_help import choices_help, markdown_parameters
from jaxbench.options.mechanism_names import GROUP, names, spec_of
from plugged import PLUGIN
from releasing import noise_of, table, ticks_of, walk

PLUGGED = PLUGIN.spec.name
# Looks at sums over items, which `test_parameter_free` gives it.
ELSEWHERE = {"parameter_free"}
NAMES = [*(name for name in BUILDERS if name not in ELSEWHERE), PLUGGED]
BOARDS = ["rank", "rank:all", "bucket:3", "top:3", "interval:1/20", "interval_rank"]
ITEMS = np.array([[12, 20], [10, 15], [16, 9]])
TRIALS, ROWS = len(ITEMS), 8
# Reused items of the smallest trial, where one number is released.
FEWEST = int(ITEMS[:, 0].min())
# Another value of these makes tables of another shape.
SHAPED = {("subsample", "items")}
NEEDED = {"size": "1/10", "share": "1/2", "whole": "4"}


@pytest.fixture(scope="module", autouse=True)
def _plugged(tmp_path_factory):
    """An installed package, as far as Python's own metadata can tell."""
    folder = tmp_path_factory.mktemp("site")
    facts = folder / "plugged-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(
        f"[{GROUP}]\n{PLUGGED} = plugged:PLUGIN\nnot_one = plugged:NOT_ONE\n"
        "not_there = plugged:NOT_THERE\nwrong = plugged:Wrong\nladder = plugged:NOT_THERE\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(folder)])
        yield


def declared(name):
    return PLUGIN.spec if name == PLUGGED else BY_NAME[name]


def edges(parameter):
    """The values at the ends of what a parameter takes, as users write them."""
    if parameter.kind == "flag":
        return ["true", "false"]
    if parameter.kind == "word":
        return list(parameter.words)
    if parameter.kind == "whole":
        # More items than there are is another test's.
        most = FEWEST if parameter.name == "items" else parameter.most or 10**9
        return [str(parameter.least), str(most)]
    inner = Fraction(1, 997)
    low, high = parameter.least, parameter.most
    return [
        spell(low + inner if parameter.open_least else low),
        spell(high - inner if parameter.open_most else high),
        "1/7",
    ]


def plain(name):
    """A value for every parameter that needs one."""
    return {
        p.name: p.words[0] if p.kind == "word" else NEEDED[p.kind]
        for p in declared(name).parameters
        if p.default is None and not p.optional
    }


def settings(name):
    """The plain values, and each parameter at its ends."""
    found = [plain(name)]
    for parameter in declared(name).parameters:
        for value in edges(parameter):
            one = plain(name) | {parameter.name: value}
            if name == "shaky_ladder" and one["step"] == "0":
                one["cap"] = "3"
            if one not in found:
                found.append(one)
    return found


@dataclass(frozen=True)
class Case:
    """A mechanism with its values, or a board of places."""

    name: str
    on: str = "overall"
    values: tuple = ()

    def __str__(self):
        inside = ",".join(f"{n}={v}" for n, v in self.values)
        return f"{self.name}-{self.on}-{inside}"

    @property
    def board(self):
        return self.name in BOARDS

    @property
    def numbers(self):
        return 2 if self.on != "overall" else 1


def every_case():
    cases = [Case(board) for board in BOARDS]
    for name in NAMES:
        for on in declared(name).places or ("overall", "coordinates"):
            # One number tells what two do, but for the plain values.
            some = settings(name) if on != "coordinates" else settings(name)[:1]
            cases += [Case(name, on, tuple(values.items())) for values in some]
    return cases


CASES = every_case()
each = pytest.mark.parametrize("case", CASES, ids=str)
ONCE = [case for case in CASES if case.board or dict(case.values) == plain(case.name)]
once = pytest.mark.parametrize("case", ONCE, ids=str)


@dataclass(frozen=True)
class Built:
    chain: MechanismChain
    losses: np.ndarray
    public: np.ndarray | None
    genuine: np.ndarray
    draws: np.ndarray

    def submissions(self):
        public = None if self.public is None else jnp.asarray(self.public)
        return Submission(jnp.asarray(self.losses), public)

    def of(self, trials):
        """The same for some trials alone."""
        return Built(
            self.chain.at(trials),
            self.losses[:, trials],
            None if self.public is None else self.public[:, trials],
            self.genuine[trials],
            self.draws[:, trials],
        )

    def noise(self):
        return noise_of(self.chain, self.draws)

    def start(self):
        return self.chain.start(self.noise()[0])

    def run(self):
        return walk(self.chain, self.submissions(), self.noise()[1], self.start())


@cache
def made(case, seed=0):
    rng = np.random.default_rng(3)
    items = ITEMS[:, : case.numbers]
    chosen = () if case.board else mechanism({"name": case.name, **dict(case.values)})
    ticks = ticks_of(chosen, items)
    per_item = ticks.per_score // ticks.items
    losses = rng.integers(0, items + 1, (ROWS, TRIALS, case.numbers)) * per_item
    genuine = rng.integers(0, items[:, None] + 1, (TRIALS, 5, case.numbers)) * per_item[:, None]
    with jax.enable_x64(True):
        if case.board:
            part = ranked_part(
                Interface.parse(case.name), genuine[..., 0].astype(float), ticks, ROWS
            )
            chain = MechanismChain((part,))
        else:
            chain = build(chosen, ticks, on=case.on, clip=False, capacity=ROWS + 5)
    held = case.name == "thresholdout"
    public = rng.integers(0, items + 1, losses.shape) * per_item if held else None
    return Built(
        chain,
        losses.astype(float),
        None if public is None else public.astype(float),
        genuine.astype(float),
        table(ROWS, chain.slots, case.numbers, TRIALS, seed),
    )


@cache
def whole(case, seed=0):
    """Feedback on all submissions of all trials, and the last state."""
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, made(case, seed).run())


at_once = jax.jit(lambda mechanism, *arguments: mechanism.step(*arguments))


def same(found, expected):
    """Bit for bit."""
    found, expected = jax.tree.leaves(found), jax.tree.leaves(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(a), b)


@each
def test_what_is_not_seen_is_not_released(case):
    _, feedback = whole(case)
    assert feedback.released.shape == (ROWS, TRIALS, case.numbers)
    assert feedback.released.dtype == np.float64
    assert np.isfinite(feedback.released[feedback.visible]).all()
    assert np.isposinf(feedback.released[~feedback.visible]).all()
    assert feedback.visible[feedback.answered].all()
    # The first submission of a team has nothing before it that could be repeated.
    if case.name not in ("thresholdout", "top:3"):
        assert feedback.answered[0].all()


@each
def test_releases_are_whole_ticks(case):
    _, feedback = whole(case)
    seen = feedback.released[feedback.visible]
    assert np.array_equal(seen, np.rint(seen))


@each
def test_a_batch_is_its_trials_one_by_one(case):
    here, (_, feedback) = made(case), whole(case)
    for trial in range(TRIALS):
        with jax.enable_x64(True):
            _, alone = here.of(np.array([trial])).run()
        same(alone, jax.tree.map(lambda x, t=trial: x[:, t : t + 1], feedback))


@once
def test_rows_are_those_trials(case):
    """In another order, and one of them twice."""
    rows = np.array([2, 0, 2])
    with jax.enable_x64(True):
        _, found = made(case).of(rows).run()
    same(found, jax.tree.map(lambda x: x[:, rows], whole(case)[1]))


@each
def test_cut_into_pieces_it_is_the_whole(case):
    here, (last, feedback) = made(case), whole(case)
    with jax.enable_x64(True):
        state, both = here.start(), (here.submissions(), here.noise()[1])
        for rows in (slice(0, 4), slice(4, 8)):
            state, found = walk(here.chain, *jax.tree.map(lambda x, r=rows: x[r], both), state)
            same(found, jax.tree.map(lambda x, r=rows: x[r], feedback))
    same(state, last)


@once
def test_without_memory_a_block_is_its_submissions(case):
    """As kernels hand it over: trials first, and arrays with an axis for submissions or none."""
    here, (_, feedback) = made(case), whole(case)
    if not here.chain.stateless:
        with jax.enable_x64(True):
            assert jax.tree.leaves(here.start())
        return
    with jax.enable_x64(True):
        block = jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1), (here.submissions(), here.noise()[1]))
        for chain in (here.chain, jax.tree.map(lambda x: x[:, None], here.chain)):
            empty = ((),) * len(chain.parts)
            _, found = at_once(chain, empty, *block)
            same(jax.tree.map(lambda x: jnp.moveaxis(x, 1, 0), found), feedback)


@once
def test_what_is_drawn_decides_what_is_released(case):
    spec = None if case.board else declared(case.name)
    noisy = spec is not None and spec.noisy
    assert bool(made(case).chain.slots) == noisy
    _, feedback = whole(case)
    with jax.enable_x64(True):
        same(made(case).run()[1], feedback)
    _, other = whole(case, seed=1)
    assert np.array_equal(other.released, feedback.released) == (not noisy)


@pytest.mark.parametrize("name", NAMES)
def test_another_value_compiles_nothing(name):
    """But for tables whose shape follows from it, and words and flags."""
    spec = declared(name)
    traced = []

    @jax.jit
    def counted(*arguments):
        traced.append(name)
        return run(*arguments)

    on = (spec.places or ("overall",))[0]
    numeric = {p.name for p in spec.parameters if p.kind in ("size", "share", "whole")}
    ways = [plain(name)]
    for values in settings(name):
        (changed,) = [n for n, v in values.items() if plain(name).get(n) != v][-1:] or [None]
        if changed in numeric and (name, changed) not in SHAPED:
            ways.append(values)
    for values in ways:
        here = made(Case(name, on, tuple(values.items())))
        with jax.enable_x64(True):
            counted(here.chain, here.submissions(), here.noise()[1], here.start())
    assert len(ways) > 1 or not numeric or name in dict(SHAPED)
    assert traced == [name]


@pytest.mark.parametrize("name", [n for n in NAMES if declared(n).global_state])
def test_a_whole_board_starts_from_its_genuine_rows(name):
    case = Case(name, declared(name).places[0], tuple(plain(name).items()))
    here, (_, of_team) = made(case), whole(case)
    with jax.enable_x64(True):
        first, drawn = here.noise()
        start = here.chain.start_board(jnp.asarray(here.genuine), first)
        _, feedback = walk(here.chain, here.submissions(), drawn, start)
        assert jax.tree.map(jnp.shape, start) == jax.tree.map(jnp.shape, here.start())
    assert not np.array_equal(feedback.released, of_team.released)


def test_memory_is_declared():
    """A board that shows the best only is a team's, whatever is asked for."""
    for case in CASES:
        if case.board:
            continue
        remembers = declared(case.name).state or ("to", "everyone") in case.values
        assert made(case).chain.stateless == (not remembers)


@pytest.mark.parametrize("case", ONCE, ids=str)
def test_its_class_says_where_it_comes_from(case):
    (part,) = made(case).chain.parts
    told = type(part).__doc__ or ""
    assert re.search(r"Source: (rule \d|these)", told), told


@pytest.mark.parametrize("name", [*BY_NAME, PLUGGED])
def test_values_out_of_range_are_refused_with_the_range(name):
    for parameter in declared(name).parameters:
        wrong, told = ["pears"], []
        if parameter.kind in ("size", "share"):
            wrong += ["-1/10", "nan", "1e400"]
            low, high = parameter.least, parameter.most
            wrong.append(spell(high if parameter.open_most else high + Fraction(1, 100)))
            if parameter.open_least:
                wrong.append(spell(low))
            told = [spell(low), spell(high)]
        elif parameter.kind == "whole":
            wrong += [str(parameter.least - 1), "1.5", "-3", str(10**10)]
            if parameter.most is not None:
                wrong.append(str(parameter.most + 1))
            told = [str(x) for x in (parameter.least, parameter.most) if x is not None]
        else:
            told = list(parameter.words or ("true", "false"))
        for value in wrong:
            with pytest.raises(BadRequest) as error:
                mechanism({"name": name} | plain(name) | {parameter.name: value})
            message = str(error.value)
            assert message.startswith(f"mechanism={name}: {parameter.name}={value}: expected ")
            assert all(word in message.partition("expected ")[2] for word in told), message
            assert "\n" not in message


@pytest.mark.parametrize("name", [*BY_NAME, PLUGGED])
def test_unknown_and_missing_parameters_are_refused(name):
    spec = declared(name)
    with pytest.raises(BadRequest, match="colour"):
        mechanism({"name": name, **plain(name), "colour": 1})
    for needed in plain(name):
        values = {n: v for n, v in plain(name).items() if n != needed}
        with pytest.raises(BadRequest, match=f"mechanism={name} needs {needed} "):
            mechanism({"name": name} | values)
    # What is asked for can be asked for again as it is shown.
    values = plain(name) | ({"total": 5} if name == "cap" else {})
    chain = mechanism({"name": name} | values)
    assert mechanism(as_option(chain)) == chain
    assert len(chain[0].values) == len(spec.parameters)


def test_all_of_them_are_told_about(root):
    table = markdown_parameters("mechanism", MECHANISMS)
    readme, told = (root / "README.md").read_text(), choices_help()
    assert table in readme
    for name, spec in BY_NAME.items():
        assert f"| `{name}` |" in table
        assert f"  {name} " in told
        for parameter in spec.parameters:
            assert f"| `{parameter.name}` |" in table
    assert set(BUILDERS) | SCHEDULES | ELSEWHERE == set(BY_NAME)
    assert PLUGGED in names()
    assert list(names())[: len(BY_NAME)] == list(BY_NAME)


def test_packages_that_do_not_keep_to_the_contract_are_named():
    for name, words in (
        ("not_one", "package plugged gives 'plugged:NOT_ONE', which has no `spec`"),
        ("not_there", "package plugged does not load 'plugged:NOT_THERE' (AttributeError"),
        ("halvng", "did you mean halving?"),
    ):
        with pytest.raises(BadRequest) as error:
            mechanism(name)
        assert words in str(error.value)
    with pytest.raises(BadRequest, match="its package built a str; expected a jaxbench"):
        build(mechanism("wrong"), ticks_of((), (5,)), on="overall", clip=False, capacity=3)
    # A built-in one wins over a package's.
    assert spec_of("ladder") is BY_NAME["ladder"]
