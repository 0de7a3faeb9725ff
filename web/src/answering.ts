// The answer of a question: asked again when it changes, the earlier asking cancelled.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError, ask, follow, type Answer, type Point, type Progress } from "./api";
import { toBody, waits, type Question } from "./question";

export interface Asked {
  question: Question | null; // of the answer
  answer: Answer | null;
  error: ApiError | null;
  progress: Progress | null;
  busy: boolean;
  ms: number;
}
const nothing: Asked = { question: null, answer: null, error: null, progress: null, busy: false, ms: 0 };

const kPause = 5; // ms after the last key stroke

/** Where a question is asked: kernels are of one point, the one that is shown. */
const pathOf = (question: Question, shown: number) => `${question.verb}/kernels/${shown}`;

/** The point of an answer that is shown, with its kernels, which are asked for when another one is picked; the point before it until they come. */
export function useKernels(question: Question, answer: Answer, index: number): Point {
  const [asked, setAsked] = useState<{ answer: Answer; index: number; point: Point } | null>(null);
  const last = useRef<{ answer: Answer; point: Point } | null>(null);
  const point = answer.points[index];
  const wanted = index > 0 && !waits(question.verb) && point.fits && !point.kernels && !!answer.points[0].kernels;
  useEffect(() => {
    if (!wanted) return undefined;
    const own = new AbortController();
    ask(pathOf(question, index), toBody(question), own.signal)
      .then((again) => setAsked({ answer, index, point: again.points[index] }))
      .catch(() => !own.signal.aborted && setAsked({ answer, index, point })); // without its kernels
    return () => own.abort();
  }, [answer, index]);
  const here = asked?.answer === answer && asked.index === index;
  if (wanted && !here && last.current?.answer === answer) return last.current.point;
  last.current = { answer, point: here ? asked.point : point };
  return last.current.point;
}

export function useAnswer(question: Question): [Asked, { run: () => void; cancel: () => void }] {
  const [asked, setAsked] = useState<Asked>(nothing);
  const control = useRef<AbortController | null>(null);
  const body = toBody(question);
  const first = useRef(true);
  const run = () => {
    control.current?.abort();
    const own = new AbortController();
    control.current = own;
    const began = performance.now();
    setAsked((a) => ({ ...a, busy: true, progress: null }));
    const progressed = (progress: Progress) => {
      if (!own.signal.aborted) setAsked((a) => ({ ...a, progress }));
    };
    const asking = waits(question.verb)
      ? follow(question.verb, body, own.signal, progressed)
      : ask(pathOf(question, 0), body, own.signal);
    asking
      .then((answer) => {
        if (own.signal.aborted) return;
        setAsked({ question, answer, error: null, progress: null, busy: false, ms: performance.now() - began });
      })
      .catch((e: unknown) => {
        if (own.signal.aborted) return;
        const error = e instanceof ApiError ? e : new ApiError("internal", "the server does not answer");
        setAsked((a) => ({
          ...a,
          answer: a.question?.verb === question.verb ? a.answer : null,
          error,
          busy: false,
          progress: null,
        }));
      });
  };
  const cancel = () => {
    control.current?.abort();
    setAsked((a) => ({ ...a, busy: false, progress: null, error: new ApiError("cancelled", "cancelled") }));
  };
  // Other effects run after the next frame; a question is not to wait for it.
  useLayoutEffect(() => {
    if (!question.verb) {
      first.current = true;
      setAsked(nothing);
      return undefined;
    }
    if (first.current || !waits(question.verb)) {
      const pause = setTimeout(run, first.current ? 0 : kPause);
      first.current = false;
      return () => clearTimeout(pause);
    }
    return undefined;
  }, [question.verb, body]);
  useEffect(() => () => control.current?.abort(), []);
  return [asked, { run, cancel }];
}
