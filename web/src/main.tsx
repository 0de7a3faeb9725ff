// The page: a form on the left, its answer on the right, and the whole question in the address.
import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { fetchFacts, fetchKeys, fetchVerbs, type Answer, type Facts, type Keys, type Point } from "./api";
import { useAnswer, useKernels, type Asked } from "./answering";
import { Events } from "./events";
import { Gpus } from "./gpus";
import { Form, isAbout, saying } from "./form";
import { number, placeText, telling, varied } from "./format";
import { Energy } from "./energy";
import { formOf, fromAddress, learn, reformed, start, titleOf, toAddress, toCommand, toPython, toYaml, turned, verbOf, verbs, waits, type Question } from "./question";
import { Figures, Front, Kernels, Load, Memory, Metrics, Notes, Plans, Roofline, Sweep } from "./views";
import "./style.css";

const kTheme = "orrery-theme";
function applyTheme(theme: string) {
  document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event("themed"));
}

function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem(kTheme) ?? "auto");
  useEffect(() => {
    applyTheme(theme);
    localStorage.setItem(kTheme, theme);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => applyTheme(theme);
    dark.addEventListener("change", changed);
    return () => dark.removeEventListener("change", changed);
  }, [theme]);
  return (
    <label class="inline theme">
      <span class="hidden">colours</span>
      <select value={theme} onChange={(e) => setTheme(e.currentTarget.value)}>
        <option value="auto">auto</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}

function CopyButtons({ question, keys, facts }: { question: Question; keys: Keys; facts: Facts }) {
  const [said, setSaid] = useState("");
  const [shown, setShown] = useState<{ name: string; text: string } | null>(null);
  const copy = async (name: string, text: string) => {
    setShown(shown?.name === name ? null : { name, text });
    try {
      await navigator.clipboard.writeText(text);
      setSaid(`${name} copied`);
    } catch {
      setSaid(`${name} is below`);
    }
    setTimeout(() => setSaid(""), 2500);
  };
  return (
    <div class="copy">
      <div class="choice" role="group" aria-label="copy the question">
        <button onClick={() => copy("Link", location.href)}>Link</button>
        <button onClick={() => copy("Command", toCommand(question))}>Command</button>
        <button onClick={() => copy("YAML", toYaml(question, keys[question.verb], facts))}>YAML</button>
        <button onClick={() => copy("Python", toPython(question))}>Python</button>
        <span class="said" role="status">
          {said}
        </span>
      </div>
      {shown && (
        <pre tabIndex={0} aria-label={shown.name}>
          {shown.text}
        </pre>
      )}
    </div>
  );
}

function Status({ asked, live, cancel }: { asked: Asked; live: boolean; cancel: () => void }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!asked.busy) return setLate(false);
    const wait = setTimeout(() => setLate(true), 250);
    return () => clearTimeout(wait);
  }, [asked.busy]);
  const p = asked.progress;
  if (asked.busy && (late || !live)) {
    const share = p && p.all > 0 ? Math.min(1, p.done / p.all) : 0;
    return (
      <div class="status busy" role="status">
        <progress max={1} value={p && p.all > 0 ? share : undefined} aria-label="progress" />
        <span>{p ? `${p.stage}: ${number(p.done)} of ${number(p.all)}` : "asking"}</span>
        <button onClick={cancel}>Cancel</button>
      </div>
    );
  }
  return (
    <div class="status" role="status">
      {asked.error?.kind === "cancelled" ? "cancelled" : asked.answer ? `answered in ${asked.ms < 10 ? asked.ms.toFixed(1) : Math.round(asked.ms)} ms` : ""}
    </div>
  );
}

interface AnswerProps {
  asked: Asked;
  facts: Facts;
  other?: Point;
}
function AnswerView({ asked, facts, other }: AnswerProps) {
  const { answer, question } = asked;
  const drawn = !!answer?.points.length && !!question;
  // What is shown follows the answer, not every key stroke of the next question.
  const body = useMemo(
    () => drawn && <AnswerBody answer={answer} question={question} facts={facts} other={other} />,
    [answer, question, facts, other],
  );
  if (!drawn) return null;
  return (
    <div class={"answer" + (asked.busy ? " stale" : "")} data-points={answer.points.length}>
      {body}
    </div>
  );
}

interface BodyProps {
  answer: Answer;
  question: Question;
  facts: Facts;
  other?: Point;
}
function AnswerBody({ answer, question, facts, other }: BodyProps) {
  const [picked, setPicked] = useState(0);
  const { points } = answer;
  const at = Math.min(picked, points.length - 1);
  useEffect(() => {
    if (picked >= points.length) setPicked(0);
  }, [points.length]);
  const { verb } = question;
  const of = verbOf(verb);
  const point = points[Math.max(0, at)];
  const step = useKernels(question, answer, Math.max(0, at));
  const apart = varied(points); // the number of GPUs mostly follows from other values
  const keys = telling(points, [...apart.filter((k) => k !== "gpus"), ...apart.filter((k) => k === "gpus")]);
  return (
    <>
      {points.length > 1 && !of.alternatives && <p class="where">Point {at + 1} of {points.length}: {placeText(point, keys)}</p>}
      {!point.fits && (
        <p class="misfit" role="alert">
          Does not fit: {(point.reason ?? "").replace(/^does not fit: /, "")}
        </p>
      )}
      <Figures verb={verb} point={point} other={other} />
      {point.limit && <p class="limit">{point.limit}</p>}
      {of.alternatives && <Plans points={points} picked={at} pick={setPicked} />}
      {points.length > 1 && <Load points={points} />}
      {points.length > 2 && of.compared && <Gpus verb={verb} points={points} facts={facts} pick={setPicked} />}
      {points.length > 1 && !of.alternatives && <Sweep verb={verb} points={points} picked={at} pick={setPicked} />}
      {points.length > 1 && <Front verb={verb} points={points} picked={at} pick={setPicked} />}
      {of.timeline && point.fits && <Events question={question} index={Math.max(0, at)} />}
      <Memory point={point} />
      <Energy point={point} />
      <Kernels point={step} />
      <Roofline point={step} points={points} facts={facts} />
      <section class="card">
        <details open={!(of.steps || of.waits) || !!other}>
          <summary>
            <h2>All figures</h2>
          </summary>
          <Metrics point={point} other={other} />
        </details>
      </section>
      <Notes point={point} answer={answer} />
    </>
  );
}

function Page({ keys, facts }: { keys: Keys; facts: Facts }) {
  const read = () => {
    const found = fromAddress(location.hash);
    return found.length ? found : [start("estimate")];
  };
  const [questions, setQuestions] = useState<Question[]>(read);
  const [edited, setEdited] = useState(questions.length - 1);
  const written = useRef(location.hash);
  useEffect(() => {
    const address = toAddress(questions);
    if (address === location.hash) return;
    written.current = address;
    history.replaceState(null, "", address);
  }, [questions]);
  useEffect(() => {
    const moved = () => {
      if (location.hash === written.current) return;
      const found = read();
      setQuestions(found);
      setEdited(found.length - 1);
    };
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  const now = Math.min(edited, questions.length - 1);
  const question = questions[now];
  const change = (q: Question) => setQuestions(questions.map((old, i) => (i === now ? q : old)));
  const [a, actionsA] = useAnswer(questions[0]);
  const second = questions[1] ?? questions[0];
  const [b, actionsB] = useSecond(second, questions.length > 1);
  const compared = questions.length > 1;
  const asked = now === 0 ? a : b;
  const actions = now === 0 ? actionsA : actionsB;
  const { error } = asked;
  const formKeys = keys[question.verb];
  const of = verbOf(question.verb);
  const form = formOf(question, facts);
  const placed = formKeys.some((k) => isAbout(error, k) && (form.usual.includes(k.name) || question.values[k.name]));
  const compareAll = () => {
    if (of.compared !== "gpu") return change({ ...question, values: { ...question.values, [of.compared]: "all" } });
    const data = facts.gpus.filter((g) => g.memory_gb >= 60 && g.bandwidth_gb_s > 1000).map((g) => g.id);
    return change({ ...question, values: { ...question.values, gpu: data.slice(0, 24).join(",") } });
  };
  const pointA = a.answer?.points[0];
  return (
    <>
      <header>
        <a class="brand" href="#/estimate" onClick={(e) => { e.preventDefault(); setQuestions([start("estimate")]); setEdited(0); }}>
          <img src="/icon.svg" alt="" width="22" height="22" /> Orrery
        </a>
        <nav aria-label="kinds of questions">
          {verbs.map(({ name, help }) => (
            <button key={name} title={help} aria-current={name === question.verb ? "page" : undefined} onClick={() => change(turned(question, name, keys))}>
              {titleOf(name)}
            </button>
          ))}
        </nav>
        <Theme />
      </header>
      <div class="body">
        <form
          aria-label={`${titleOf(question.verb)}: the question`}
          onSubmit={(e) => {
            e.preventDefault();
            actions.run();
          }}
        >
          <div class="choice compare" role="group" aria-label="comparison">
            {compared ? (
              <>
                {["A", "B"].map((name, i) => (
                  <button type="button" key={name} aria-pressed={now === i} onClick={() => setEdited(i)}>
                    Question {name}
                  </button>
                ))}
                <button type="button" onClick={() => { setQuestions([questions[now]]); setEdited(0); }}>
                  End comparison
                </button>
              </>
            ) : (
              <button type="button" onClick={() => { setQuestions([question, { ...question, values: { ...question.values } }]); setEdited(1); }}>
                Compare with another
              </button>
            )}
          </div>
          {of.forms.length > 1 && (
            <div class="choice compare" role="group" aria-label="form of the question">
              {of.forms.map((f) => (
                <button type="button" key={f.title} aria-pressed={f === form} onClick={() => change(reformed(question, f))}>
                  {f.title}
                </button>
              ))}
            </div>
          )}
          <Form
            key={question.verb + now + form.title}
            question={question}
            keys={formKeys}
            facts={facts}
            error={error}
            set={(name, value) => change({ ...question, values: { ...question.values, [name]: value } })}
          />
          <div class="act">
            <button class="run" type="submit">
              {waits(question.verb) ? "Run" : "Ask again"}
            </button>
            {of.compared && (
              <button
                type="button"
                onClick={compareAll}
                title={of.compared === "gpu" ? "ask for every data-centre GPU of the catalog with at least 60 GB" : `ask for every ${of.compared}`}
              >
                {of.compared === "gpu" ? "Compare GPUs" : `All ${of.compared}s`}
              </button>
            )}
          </div>
          <p class="hint">Lists and ranges ask several points: 1,2,4 or 1-64*2.</p>
        </form>
        <main>
          <CopyButtons question={question} keys={keys} facts={facts} />
          <Status asked={asked} live={!waits(question.verb)} cancel={actions.cancel} />
          {error && error.kind !== "cancelled" && !placed && (
            <p class="misfit" role="alert">
              {error.kind === "input" && formKeys.some((k) => isAbout(error, k)) ? `${error.key}: ${saying(error)}` : error.message}
            </p>
          )}
          {compared ? (
            <div class="columns">
              <section aria-label="answer A">
                <h1>A: {titleOf(questions[0].verb)}</h1>
                <AnswerView asked={a} facts={facts} />
              </section>
              <section aria-label="answer B">
                <h1>B: {titleOf(questions[1].verb)}</h1>
                <AnswerView asked={b} facts={facts} other={pointA} />
              </section>
            </div>
          ) : (
            <AnswerView asked={a} facts={facts} />
          )}
        </main>
      </div>
    </>
  );
}

/** As useAnswer, but nothing is asked while there is no second question. */
function useSecond(question: Question, on: boolean): ReturnType<typeof useAnswer> {
  return useAnswer(on ? question : { verb: "", values: {} });
}

async function boot() {
  const place = document.getElementById("page")!;
  applyTheme(localStorage.getItem(kTheme) ?? "auto");
  try {
    const [keys, facts, all] = await Promise.all([fetchKeys(), fetchFacts(), fetchVerbs()]);
    learn(all);
    render(<Page keys={keys} facts={facts} />, place);
  } catch (e) {
    place.textContent = `The server does not answer: ${e instanceof Error ? e.message : e}`;
  }
}
void boot();
