"""Answers in notebooks: a table and a small picture."""

from html import escape

_MOST_ROWS = 60
_SHOWN = ("ttft", "tpot", "e2e", "output_throughput", "goodput", "iteration_time", "time",
          "busbw", "mfu", "memory", "cost", "total_cost")
_BAR = "#1f5fa8"


def _number(v):
    return f"{v:.4g}" if isinstance(v, float) else str(v)


def _table(head, rows):
    cells = "".join(f"<th style='text-align:left'>{escape(str(h))}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td style='text-align:left'>{escape(str(c))}</td>" for c in r)
                   + "</tr>" for r in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _bars(rows, title):
    """Shares of a whole as bars: pairs of label and share."""
    width, height = 520, 16 * len(rows) + 4
    parts = []
    for i, (label, share) in enumerate(rows):
        y = 16 * i
        parts.append(f"<text x='0' y='{y + 12}'>{escape(label[:30])}</text>"
                     f"<rect x='210' y='{y + 3}' width='{max(0.5, 240 * share):.1f}' height='10' "
                     f"fill='{_BAR}'/><text x='{214 + 240 * share:.1f}' y='{y + 12}'>"
                     f"{100 * share:.1f} %</text>")
    return (f"<svg role='img' aria-label='{escape(title)}' width='{width}' height='{height}' "
            f"font-family='sans-serif' font-size='11' fill='currentColor'>{''.join(parts)}</svg>")


def _line(pairs, xlabel, metric):
    """A metric over a swept number."""
    left, right, top, bottom = 60, 500, 8, 130
    xs, ys = [p[0] for p in pairs], [p[1] for p in pairs]
    span = (max(xs) - min(xs)) or 1
    most = max(ys) or 1

    def at(x, y):
        return (left + (right - left) * (x - min(xs)) / span, bottom - (bottom - top) * y / most)

    dots = [at(x, y) for x, y in pairs]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    marks = "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2.5' fill='{_BAR}'/>" for x, y in dots)
    label = f"{metric.name} in {metric.unit} over {xlabel}"
    return (f"<svg role='img' aria-label='{escape(label)}' width='520' height='160' "
            f"font-family='sans-serif' font-size='11' fill='currentColor'>"
            f"<path d='M{left},{top}V{bottom}H{right}' fill='none' stroke='currentColor'/>"
            f"<polyline points='{path}' fill='none' stroke='{_BAR}' stroke-width='1.5'/>{marks}"
            f"<text x='2' y='{top + 8}'>{_number(float(most))}</text>"
            f"<text x='{left}' y='146'>{_number(min(xs))}</text>"
            f"<text x='{right}' y='146' text-anchor='end'>{_number(max(xs))}</text>"
            f"<text x='{(left + right) / 2}' y='158' text-anchor='middle'>{escape(label)}</text></svg>")


def _one(point):
    rows = []
    for m in point.metrics.values():
        interval = f"[{m.interval90[0]:.4g}, {m.interval90[1]:.4g}]" if m.interval90 else ""
        rows.append((m.name, _number(m.value), m.unit, interval, m.origin))
    out = "" if point.fits else f"<p><b>Does not fit:</b> {escape(point.reason)}</p>"
    if point.limit:
        out += f"<p>{escape(point.limit)}</p>"
    out += _table(("metric", "value", "unit", "90 %", "origin"), rows)
    kernels = sorted(point.kernels, key=lambda k: -k["share"])[:12]
    if kernels:
        out += _bars([(f"{k['phase']} {k['name']}", k["share"]) for k in kernels],
                     "shares of the largest kernels of a step")
        return out
    memory = {k: v for k, v in point.memory_breakdown.items() if k not in ("capacity", "unit")}
    capacity = point.memory_breakdown.get("capacity")
    if memory and capacity:
        out += _bars([(k, v / capacity) for k, v in memory.items()], "shares of a GPU's memory")
    return out


def _several(answer):
    points = answer.points
    varying = [k for k in points[0].at
               if not isinstance(points[0].at[k], (dict, list))
               and len({str(p.at.get(k)) for p in points}) > 1]
    names = [n for n in _SHOWN if any(n in p.metrics for p in points)]
    if not names:
        names = list(dict.fromkeys(n for p in points for n in p.metrics))[:5]
    units = {n: next(p.metrics[n].unit for p in points if n in p.metrics) for n in names}
    rows = []
    for p in points[:_MOST_ROWS]:
        shown = [_number(p.metrics[n].value) if n in p.metrics else
                 ("" if p.fits else "does not fit") for n in names]
        rows.append([p.at.get(k, "") for k in varying] + shown)
    out = _table(varying + [f"{n} {units[n]}" for n in names], rows)
    if len(points) > _MOST_ROWS:
        out += f"<p>and {len(points) - _MOST_ROWS} more points</p>"
    for key in varying:
        pairs = [(p.at[key], p.metrics[names[0]].value) for p in points
                 if isinstance(p.at.get(key), (int, float)) and names[0] in p.metrics]
        others = [k for k in varying if k != key]
        if len(pairs) > 1 and not others:
            metric = next(p.metrics[names[0]] for p in points if names[0] in p.metrics)
            return out + _line(pairs, key, metric)
    best = [(" ".join(f"{k}={p.at[k]}" for k in varying), p.metrics[names[0]].value)
            for p in points[:12] if names[0] in p.metrics]
    most = max((v for _, v in best), default=0)
    if most > 0:
        out += _bars([(label, v / most) for label, v in best],
                     f"{names[0]} of the first points, as a share of the largest")
    return out


def answer_html(answer):
    body = _one(answer.points[0]) if len(answer) == 1 else _several(answer) if len(answer) else ""
    return f"<div><b>{escape(answer.scenario)}</b>{body}</div>"
