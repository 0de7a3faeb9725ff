"""Answers in notebooks: a table and a small picture."""

from html import escape

_MOST_ROWS = 60
_SHOWN = ("ttft", "tpot", "e2e", "output_throughput", "goodput", "iteration_time", "time",
          "busbw", "mfu", "memory", "cost", "total_cost")


def _number(v):
    return f"{v:.4g}" if isinstance(v, float) else str(v)


def _table(head, rows):
    cells = "".join(f"<th style='text-align:left'>{escape(str(h))}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td style='text-align:left'>{escape(str(c))}</td>" for c in r)
                   + "</tr>" for r in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _one(point):
    rows = []
    for m in point.metrics.values():
        interval = f"[{m.interval90[0]:.4g}, {m.interval90[1]:.4g}]" if m.interval90 else ""
        rows.append((m.name, _number(m.value), m.unit, interval, m.origin))
    out = "" if point.fits else f"<p><b>Does not fit:</b> {escape(point.reason)}</p>"
    if point.limit:
        out += f"<p>{escape(point.limit)}</p>"
    out += _table(("metric", "value", "unit", "90 %", "origin"), rows)
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
    return out


def answer_html(answer):
    body = _one(answer.points[0]) if len(answer) == 1 else _several(answer) if len(answer) else ""
    picture = answer._answered.element()
    if picture:
        body += f"<div style='max-width:620px'>{picture}</div>"
    return f"<div><b>{escape(answer.scenario)}</b>{body}</div>"
