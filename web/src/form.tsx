// The form of a verb: the keys that most questions have, then all others by their headings.
import { useMemo, useState } from "preact/hooks";
import type { ApiError, Facts, Key } from "./api";
import { Field } from "./fields";
import { formOf, verbOf, type Question } from "./question";

interface Props {
  question: Question;
  keys: Key[];
  facts: Facts;
  error: ApiError | null;
  set: (name: string, value: string) => void;
}

const bare = (text: string) => text.replace(/_/g, "-");
/** Whether an error is about a key, by its name or its path in a scenario. */
export function isAbout(error: ApiError | null, key: Key): boolean {
  if (!error) return false;
  const at = bare(error.key ?? "");
  if (at && (at === key.name || at === bare(key.path) || key.aliases?.includes(at))) return true;
  if (error.message.startsWith(`${key.path} `)) return true;
  return error.message.startsWith(`--${key.name}:`) || error.message.startsWith(`--${key.name} `);
}
/** The message without its place. */
export function saying(error: ApiError): string {
  return error.message.replace(/^question:(\d+: )?/, "").replace(/^\s*([a-z0-9_.-]+): /, "");
}

export function Form({ question, keys, facts, error, set }: Props) {
  const [search, setSearch] = useState("");
  const first = formOf(question, facts).usual;
  const byName = useMemo(() => new Map(keys.map((k) => [k.name, k])), [keys]);
  const given = Object.keys(question.values).filter((k) => question.values[k] && !first.includes(k));
  const shown = [...first, ...given].map((n) => byName.get(n)).filter((k): k is Key => !!k);
  const others = useMemo(() => {
    const groups = new Map<string, Key[]>();
    for (const k of keys) {
      const list = groups.get(k.heading || "question") ?? [];
      list.push(k);
      groups.set(k.heading || "question", list);
    }
    return [...groups];
  }, [keys]);
  const field = (k: Key) => (
    <Field
      key={k.name}
      of={k}
      value={question.values[k.name] ?? ""}
      error={isAbout(error, k) && error ? saying(error) : undefined}
      facts={facts}
      file={verbOf(question.verb).files.includes(k.name)}
      set={(v) => set(k.name, v)}
    />
  );
  const looked = search.trim().toLowerCase();
  const hit = (k: Key) => `${k.name} ${k.path} ${k.help}`.toLowerCase().includes(looked);
  return (
    <>
      <div class="fields">{shown.map(field)}</div>
      <details class="more">
        <summary>All {keys.length} keys</summary>
        <div class="field search">
          <label for="search-keys">find a key</label>
          <input
            id="search-keys"
            type="search"
            value={search}
            placeholder="overlap, price, prefix ..."
            onInput={(e) => setSearch(e.currentTarget.value)}
          />
        </div>
        {others.map(([heading, list]) => {
          const left = list.filter((k) => !shown.includes(k) && (!looked || hit(k)));
          if (!left.length) return null;
          return (
            <details class="group" key={heading} open={!!looked}>
              <summary>
                {heading} <small>{left.length}</small>
              </summary>
              <div class="fields">{left.map(field)}</div>
            </details>
          );
        })}
      </details>
    </>
  );
}
