// Fields of the form, made from the declarations of keys.
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { Facts, Key } from "./api";

interface Choice {
  id: string;
  note: string;
}

/** The names that a key takes; null: any text. */
export function choicesOf(key: Key, facts: Facts): Choice[] | null {
  const named = (ids: string[]) => ids.map((id) => ({ id, note: "" }));
  if (key.choices?.length) return named(key.choices.filter((c) => c !== ""));
  const last = key.path.split(".").pop();
  const models = () => facts.models.map((m) => ({ id: m.id, note: m.aliases[0] ?? "" }));
  const gpus = () => facts.gpus.map((g) => ({ id: g.id, note: `${g.name}, ${Math.round(g.memory_gb)} GB` }));
  if (last === "model" || key.path === "edge.draft") return models();
  if (key.path === "edge.network") return [...facts.networks.map((id) => ({ id, note: "network" })), ...models()];
  if (key.path === "edge.device") {
    const seen = new Set(facts.devices);
    const chips = facts.chips.filter((c) => !seen.has(c) && !facts.gpus.some((g) => g.id === c));
    const noted = (ids: string[], note: string) => ids.map((id) => ({ id, note }));
    return [...noted(["all"], "every device"), ...noted(facts.devices, "networks"), ...noted(chips, "LLMs"), ...gpus()];
  }
  if (last === "gpu") return gpus();
  if (key.path === "engine.profile" || last === "engines") return named(facts.engines);
  const own = (facts as unknown as Record<string, unknown>)[`${last}s`];
  if (Array.isArray(own) && own.every((n) => typeof n === "string")) return named(own as string[]);
  return null;
}

const matches = (c: Choice, text: string) => {
  const hay = (c.id + " " + c.note).toLowerCase();
  return text
    .toLowerCase()
    .split(/[\s]+/)
    .every((w) => hay.includes(w));
};

interface FieldProps {
  of: Key;
  value: string;
  error?: string;
  facts: Facts;
  file: boolean; // the value may be the text of a file
  set: (value: string) => void;
}

export function Field({ of: key, value, error, facts, file, set }: FieldProps) {
  const id = useId();
  const choices = useMemo(() => choicesOf(key, facts), [key, facts]);
  const help = [key.help, key.unit ? `in ${key.unit}` : "", key.needs ? `needs ${key.needs}` : ""];
  return (
    <div class={"field" + (error ? " wrong" : "")} data-key={key.name}>
      <label for={id}>{key.name.replace(/-/g, " ")}</label>
      {key.type === "boolean" || key.value ? (
        <select id={id} value={value} onChange={(e) => set(e.currentTarget.value)} title={key.help}>
          <option value="">default{key.default ? ` (${key.default})` : ""}</option>
          <option value="true">on</option>
          <option value="false">off</option>
        </select>
      ) : choices ? (
        <Combo id={id} choices={choices} value={value} label={key.name} hint={key.default} set={set} invalid={!!error} />
      ) : (
        <input
          id={id}
          value={value}
          placeholder={key.default ?? ""}
          autocomplete="off"
          spellcheck={false}
          aria-invalid={!!error}
          aria-describedby={error ? id + "-error" : id + "-help"}
          onInput={(e) => set(e.currentTarget.value)}
        />
      )}
      {file && (
        <input
          type="file"
          aria-label={`file of ${key.name}`}
          onChange={async (e) => {
            const chosen = e.currentTarget.files?.[0];
            if (chosen) set(await chosen.text());
          }}
        />
      )}
      {error && (
        <p class="error" id={id + "-error"} role="alert">
          {error}
        </p>
      )}
      <p class="help" id={id + "-help"}>
        {help.filter(Boolean).join("; ")}
      </p>
    </div>
  );
}

interface ComboProps {
  id: string;
  choices: Choice[];
  value: string;
  label: string;
  hint?: string;
  invalid: boolean;
  set: (value: string) => void;
}

/** A text with a list of names that match what is typed after the last comma. */
function Combo({ id, choices, value, label, hint, invalid, set }: ComboProps) {
  const [open, setOpen] = useState(false);
  const [all, setAll] = useState(false); // shows every name, not those that match
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const comma = value.lastIndexOf(",") + 1;
  const word = value.slice(comma).trim();
  const shown = useMemo(
    () => (all || !word ? choices : choices.filter((c) => matches(c, word))).slice(0, 200),
    [choices, word, all],
  );
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at, open]);
  const take = (c: Choice) => {
    set(value.slice(0, comma) + c.id);
    setOpen(false);
  };
  const press = (e: KeyboardEvent) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      if (!open) {
        setOpen(true), setAll(true), setAt(Math.max(0, choices.findIndex((c) => c.id === word)));
      } else if (shown.length) {
        setAt((at + (e.key === "ArrowDown" ? 1 : shown.length - 1)) % shown.length);
      }
    } else if (e.key === "Enter" && open && shown[at]) {
      e.preventDefault();
      take(shown[at]);
    } else if (e.key === "Escape" && open) {
      e.stopPropagation();
      setOpen(false);
    }
  };
  return (
    <div class="combo">
      <input
        id={id}
        role="combobox"
        aria-expanded={open}
        aria-controls={id + "-list"}
        aria-autocomplete="list"
        aria-activedescendant={open && shown[at] ? `${id}-${at}` : undefined}
        aria-invalid={invalid}
        value={value}
        placeholder={hint ?? ""}
        autocomplete="off"
        spellcheck={false}
        onInput={(e) => {
          set(e.currentTarget.value);
          setOpen(true), setAll(false), setAt(0);
        }}
        onKeyDown={press}
        onClick={() => {
          setOpen(!open), setAll(true), setAt(Math.max(0, choices.findIndex((c) => c.id === word)));
        }}
        onBlur={() => setOpen(false)}
      />
      {open && shown.length > 0 && (
        <ul role="listbox" id={id + "-list"} aria-label={label} ref={list}>
          {shown.map((c, i) => (
            <li
              role="option"
              id={`${id}-${i}`}
              aria-selected={i === at}
              key={c.id}
              onMouseDown={(e) => {
                e.preventDefault();
                take(c);
              }}
            >
              <span>{c.id}</span>
              {c.note && c.note !== c.id && <small>{c.note}</small>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
