"""Answers as objects. They show what the library computed, and compute nothing."""

import itertools
import json


class Metric:
    """A predicted figure. `float(m)` is its value."""

    __slots__ = ("name", "unit", "value", "interval50", "interval90", "origin")

    def __init__(self, name, found):
        self.name = name
        self.unit = found["unit"]
        self.value = found["value"]
        self.interval50 = tuple(found["interval50"]) if "interval50" in found else None
        self.interval90 = tuple(found["interval90"]) if "interval90" in found else None
        self.origin = found["origin"]

    def __float__(self):
        return float(self.value)

    def __repr__(self):
        width = f" [{self.interval90[0]:.4g}, {self.interval90[1]:.4g}]" if self.interval90 else ""
        return f"{self.value:.4g} {self.unit}{width}"

    def to_dict(self):
        found = {"unit": self.unit, "value": self.value}
        if self.interval50:
            found["interval50"] = list(self.interval50)
        if self.interval90:
            found["interval90"] = list(self.interval90)
        found["origin"] = self.origin
        return found


class Record(dict):
    """A dict whose keys are attributes, too."""

    @classmethod
    def of(cls, value):
        if isinstance(value, dict):
            return cls((k, cls.of(v)) for k, v in value.items())
        return [cls.of(v) for v in value] if isinstance(value, list) else value

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self):
        return [*super().__dir__(), *self]

    def to_dict(self):
        return json.loads(json.dumps(self))


class Point:
    """The answer at one point of a sweep: swept values and metrics are attributes."""

    def __init__(self, answer, index, found):
        self._answer, self._index, self._found = answer, index, found
        # The values that say where a point is stand in front of whether it fits.
        self.at = dict(itertools.takewhile(lambda item: item[0] != "fits", found.items()))
        self.fits = found["fits"]
        self.reason = found.get("reason", "")
        self.meets_slo = found.get("meets_slo")
        self.limit = found.get("limit", "")
        self.metrics = {k: Metric(k, v) for k, v in found["metrics"].items()}

    def _detail(self, name, empty):
        return self._answer._full["points"][self._index].get(name, empty)

    # Parts of the breakdown; empty if it was not asked for.
    @property
    def kernels(self):
        return [Record.of(k) for k in self._detail("kernels", [])]

    @property
    def memory_breakdown(self):
        return Record.of(self._detail("memory", {}))

    @property
    def energy_breakdown(self):
        return Record.of(self._detail("energy", {}))

    @property
    def energy_by_kernel(self):
        return Record.of(self._detail("energy_by_kernel", {}))

    @property
    def replayed(self):
        return [Record.of(r) for r in self._detail("replay", [])]

    @property
    def notes(self):
        return self._detail("notes", [])

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.metrics:
            return self.metrics[name]
        if name in self.at:
            return self.at[name]
        import difflib

        near = difflib.get_close_matches(name, [*self.metrics, *self.at], 1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        raise AttributeError(f"no metric or key '{name}'{hint}")

    def __dir__(self):
        return [*super().__dir__(), *self.metrics, *self.at]

    def __getitem__(self, name):
        return self.metrics[name] if name in self.metrics else self.at[name]

    def __repr__(self):
        place = " ".join(f"{k}={v}" for k, v in self.at.items() if not isinstance(v, (dict, list)))
        if not self.fits:
            return f"<Point {place}: {self.reason}>"
        shown = ", ".join(f"{m.name} {m!r}" for m in list(self.metrics.values())[:4])
        return f"<Point {place}: {shown}>"

    def to_dict(self):
        return json.loads(json.dumps(self._answer._full["points"][self._index]))


class Answer:
    """The answer to a question: a list of points. With one point, its attributes are the answer's,
    too."""

    def __init__(self, answered):
        self._answered = answered
        self._short_form = self._full_form = self._points = None

    # The JSON that `-o json` prints: _short leaves the breakdown out, _full has it.
    @property
    def _short(self):
        if self._short_form is None:
            self._short_form = json.loads(self._answered.text("json", False))
        return self._short_form

    @property
    def _full(self):
        if self._full_form is None:
            self._full_form = json.loads(self.to_json())
        return self._full_form

    @property
    def scenario(self):
        """The name of the scenario."""
        return self._short["scenario"]

    @property
    def configuration(self):
        """The whole scenario, after defaults."""
        return self._short["configuration"]

    @property
    def optimum(self):
        """The best point by the objective, where one was asked for."""
        found = self._short.get("optimum")
        return Record.of(found) if found else None

    @property
    def complete(self):
        """Of plans: whether all candidates were looked at."""
        return self._short.get("complete")

    @property
    def points(self):
        if self._points is None:
            self._points = [Point(self, i, p) for i, p in enumerate(self._short["points"])]
        return self._points

    @property
    def fits(self):
        """Whether any point fits."""
        return any(p.fits for p in self.points)

    def __len__(self):
        return self._answered.points

    def __iter__(self):
        return iter(self.points)

    def __getitem__(self, index):
        return self.points[index]

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if len(self) == 1:
            return getattr(self.points[0], name)
        raise AttributeError(f"'{name}': the answer has {len(self)} points; take one, as answer[0]")

    def __dir__(self):
        return [*super().__dir__(), *(dir(self.points[0]) if len(self) == 1 else [])]

    def to_json(self):
        """The bytes that `-o json` prints."""
        return self._answered.text("json", self._answered.breakdown)

    def to_dict(self):
        return json.loads(self.to_json())

    def to_csv(self):
        return self._answered.text("csv", True)

    def to_markdown(self):
        return self._answered.text("md", self._answered.breakdown)

    def to_html(self):
        """A self-contained page."""
        return self._answered.text("html", True)

    def rows(self):
        """A dict for each point: the values that vary, `fits`, and each metric with its interval."""
        rows = []
        for p in self.points:
            row = {k: v for k, v in p.at.items() if not isinstance(v, (dict, list))}
            row["fits"] = p.fits
            for m in p.metrics.values():
                name = "fits_chance" if m.name == "fits" else m.name
                row[name] = m.value
                if m.interval90:
                    row[name + "_low90"], row[name + "_high90"] = m.interval90
            rows.append(row)
        return rows

    def to_pandas(self):
        """A table of pandas with a row for each point."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas() needs pandas; rows() gives the same as dicts") from None
        return pandas.DataFrame(self.rows())

    def __str__(self):
        return self._answered.text("table", self._answered.breakdown)

    def __repr__(self):
        if len(self) == 1:
            return f"<Answer {self.scenario}: {self.points[0]!r}>"
        return f"<Answer {self.scenario}: {len(self)} points>"

    def svg(self, name=""):
        """One picture as the text of an SVG file: the one with this name (as --picture has it on
        the command line), or the first that the answer has. InputError: it has none."""
        return self._answered.svg(name)

    def _repr_html_(self):
        from orrery._html import answer_html

        return answer_html(self)
