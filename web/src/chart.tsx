// A chart in the page's colours, which fits its place and says in words what it shows.
import type { ECharts } from "echarts/core";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { short } from "./format";

// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Option = Record<string, any>;
export interface Colours {
  ink: string;
  soft: string;
  line: string;
  paper: string;
  series: string[];
}

let known: Colours | null = null;
addEventListener("themed", () => (known = null));

/** The colours of the page's theme. They are read once for a theme, since reading makes the browser lay the page out. */
export function colours(): Colours {
  return (known ??= read());
}
function read(): Colours {
  const css = getComputedStyle(document.documentElement);
  const of = (name: string) => css.getPropertyValue(name).trim();
  return {
    ink: of("--ink"),
    soft: of("--soft"),
    line: of("--line"),
    paper: of("--card"),
    series: [1, 2, 3, 4, 5, 6, 7, 8].map((i) => of(`--s${i}`)),
  };
}

/** What all axes have. */
export function axis(c: Colours, name: string, more: Option = {}): Option {
  return {
    name,
    nameLocation: "middle",
    nameGap: 28,
    nameTextStyle: { color: c.soft },
    axisLabel: { color: c.soft, hideOverlap: true, formatter: (v: number | string) => (typeof v === "number" ? short(v) : v) },
    axisLine: { lineStyle: { color: c.line } },
    axisTick: { lineStyle: { color: c.line } },
    splitLine: { lineStyle: { color: c.line, opacity: 0.6 } },
    ...more,
  };
}

// What a chart makes anew when it is drawn again. Its tooltip stays: a new one makes the browser lay the page out.
const kMadeAnew = ["series", "xAxis", "yAxis", "grid", "legend", "dataZoom"];
const kLegendOfALine = 34; // pixels from the top of a chart to its plot

/** A legend above the plot, and the top of a grid below it, in a chart that is `width` pixels wide. */
export function legendAbove(c: Colours, names: string[], width: number): { legend: Option; top: number } {
  const kRow = 19, kLetter = 7, kSymbol = 45; // pixels: a line, a letter, a symbol with the gaps around it
  let rows = 1;
  let used = 0;
  for (const name of names) {
    const own = Math.min(width, kSymbol + kLetter * name.length);
    if (used > 0 && used + own > width) rows += 1, (used = 0);
    used += own;
  }
  return { legend: { top: 0, left: 0, textStyle: { color: c.ink }, itemHeight: 9, data: names }, top: kLegendOfALine + kRow * (rows - 1) };
}

interface Props {
  label: string;
  height?: number;
  make: (c: Colours, width: number) => Option;
  deps: unknown[];
  picked?: (data: unknown) => void;
}

export function Chart({ label, height = 300, make, deps, picked }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<ECharts | null>(null);
  const latest = useRef({ make, picked });
  latest.current = { make, picked };
  const drawings = useRef(0); // the attribute data-drawn, by which a test knows that a drawing is done
  const draw = () => {
    if (!chart.current) return;
    const c = colours();
    const made = latest.current.make(c, chart.current.getWidth());
    // Further lines of a legend make the chart higher, not the plot smaller.
    const high = `${height + Math.max(0, (made.grid?.top ?? 0) - kLegendOfALine)}px`;
    const grows = !!place.current && place.current.style.height !== high;
    if (grows) place.current!.style.height = high;
    // The new size and the new content are drawn at once, by resize().
    chart.current.setOption(
      { animation: false, textStyle: { fontFamily: "inherit", color: c.ink }, color: c.series, ...made },
      { replaceMerge: kMadeAnew, lazyUpdate: grows },
    );
    if (grows) chart.current.resize();
    if (place.current) place.current.dataset.drawn = String(++drawings.current);
  };
  // A chart out of sight is drawn after the frame that shows what is in sight.
  const seen = useRef(true);
  const later = useRef(0);
  const drawInTurn = () => {
    cancelAnimationFrame(later.current);
    if (seen.current) draw();
    else later.current = requestAnimationFrame(() => (later.current = requestAnimationFrame(draw)));
  };
  useEffect(() => {
    let gone = false;
    let watch: ResizeObserver | undefined;
    const sight = new IntersectionObserver((entries) => {
      seen.current = entries[entries.length - 1].isIntersecting;
    });
    sight.observe(place.current!);
    void import("./charts").then(({ init }) => {
      if (gone || !place.current) return;
      chart.current = init(place.current);
      chart.current.on("click", (e) => latest.current.picked?.((e as { data?: unknown }).data));
      watch = new ResizeObserver(() => {
        const at = place.current, drawn = chart.current;
        if (!at || !drawn || (at.clientWidth === drawn.getWidth() && at.clientHeight === drawn.getHeight())) return;
        const other = at.clientWidth !== drawn.getWidth();
        drawn.resize();
        if (other) draw();
      });
      watch.observe(place.current);
      draw();
    });
    const themed = () => draw();
    addEventListener("themed", themed);
    return () => {
      gone = true;
      removeEventListener("themed", themed);
      cancelAnimationFrame(later.current);
      sight.disconnect();
      watch?.disconnect();
      chart.current?.dispose();
      chart.current = null;
    };
  }, []);
  useLayoutEffect(drawInTurn, deps); // in the frame of the rest of the answer
  return <div class="chart" role="img" aria-label={label} style={{ height: `${height}px` }} ref={place} />;
}

export function tooltip(c: Colours, more: Option = {}): Option {
  return {
    backgroundColor: c.paper,
    borderColor: c.line,
    textStyle: { color: c.ink, fontSize: 12 },
    confine: true,
    ...more,
  };
}
