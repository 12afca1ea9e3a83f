// Forms made from JSON Schema: a tool's arguments, or a question's fields.
// What has no field of its own here is written as JSON; the server checks everything again.

import { h } from "./dom.js";

let forms = 0;

// Returns { element, read, draft }: the fields, and functions that return the values: `read` or, after showing why, null;
// `draft` what is written so far, right or wrong.
export function formOf(schema, { values = {} } = {}) {
  const prefix = `f${++forms}`;
  const required = new Set(schema?.required ?? []);
  const fields = Object.entries(schema?.properties ?? {}).map(([name, one], index) =>
    field(`${prefix}-${index}`, name, one, required.has(name), values[name] ?? one.default));
  fields.sort((one, other) => other.isRequired - one.isRequired);
  const element = h("div", { class: "fields" }, fields.map((one) => one.element));
  const read = () => {
    const found = {};
    let first = null;
    for (const one of fields) {
      const { value, fault } = one.read();
      one.tell(fault);
      if (fault) first ??= one;
      else if (value !== undefined) found[one.name] = value;
    }
    first?.control.focus();
    return first ? null : found;
  };
  const draft = () => Object.fromEntries(fields.map((one) => [one.name, one.read().value]).filter(([, value]) => value !== undefined));
  return { element, read, draft, isEmpty: !fields.length };
}

// The values of the examples that a schema gives for its fields, or null where a field that is required has none.
export function exampleOf(schema) {
  const fields = Object.entries(schema?.properties ?? {}), required = new Set(schema?.required ?? []);
  const found = fields.flatMap(([name, one]) => (one.examples?.length ? [[name, one.examples[0]]] : []));
  const given = new Set(found.map(([name]) => name));
  const isWhole = fields.every(([name, one]) => !required.has(name) || given.has(name) || "default" in one);
  return found.length && isWhole ? Object.fromEntries(found) : null;
}

function field(id, name, schema, isRequired, given) {
  const kind = kindOf(schema);
  const control = CONTROLS[kind](schema, given);
  control.id = id;
  control.setAttribute("aria-describedby", `${id}-more ${id}-fault`);
  control.required = isRequired && kind !== "boolean";
  control.dataset.name = name;
  const more = h("small", { id: `${id}-more` }, schema.description ?? "");
  const wrong = h("small", { id: `${id}-fault`, class: "fault" });
  const tell = (fault) => {
    wrong.textContent = fault || "";
    control.setAttribute("aria-invalid", fault ? "true" : "false");
  };
  tell("");
  const label = h("label", { for: id }, schema.title ?? name, isRequired ? "" : h("span", { class: "quiet" }, " optional"));
  const element = h("div", { class: `field ${kind}` }, kind === "boolean" ? [control, label] : [label, control], more, wrong);
  return { name, element, control, isRequired, tell, read: () => READ[kind](control, schema, isRequired) };
}

function kindOf(schema) {
  if (schema.enum || schema.oneOf?.every((one) => "const" in one)) return "choice";
  if (schema.type === "array" && (schema.items?.enum || schema.items?.anyOf?.every((one) => "const" in one))) return "choices";
  if (schema.type === "integer" || schema.type === "number") return "number";
  if (schema.type === "boolean") return "boolean";
  if (schema.type === "string") return (schema.maxLength ?? 0) > 300 ? "long" : "text";
  return "json";
}

function options(schema, names) {
  const found = schema.enum ?? (schema.oneOf ?? schema.anyOf)?.map((one) => one.const) ?? [];
  const titles = names ?? (schema.oneOf ?? schema.anyOf)?.map((one) => one.title);
  return found.map((value, index) => h("option", { value: JSON.stringify(value) }, String(titles?.[index] ?? shown(value))));
}

const shown = (value) => (typeof value === "string" ? value.replace("\t", "tab") : JSON.stringify(value));

const INPUTS = { email: "email", uri: "url", date: "date" };

const CONTROLS = {
  choice: (schema, given) => {
    const select = h("select", {}, h("option", { value: "" }, "Choose ..."), options(schema, schema.enumNames));
    select.value = given === undefined ? "" : JSON.stringify(given);
    return select;
  },
  choices: (schema, given) => {
    const select = h("select", { multiple: true }, options(schema.items));
    for (const one of select.options) one.selected = (given ?? []).some((value) => JSON.stringify(value) === one.value);
    return select;
  },
  number: (schema, given) => {
    const step = schema.type === "integer" ? "1" : "any";
    return h("input", { type: "number", step, min: text(schema.minimum), max: text(schema.maximum), value: text(given) });
  },
  boolean: (_, given) => h("input", { type: "checkbox", checked: given === true }),
  text: (schema, given) => h("input", { type: INPUTS[schema.format] ?? "text", value: text(given), maxlength: text(schema.maxLength), autocomplete: "off" }),
  long: (schema, given) => h("textarea", { rows: "4", maxlength: text(schema.maxLength), spellcheck: "false" }, given ?? ""),
  json: (_, given) => h("textarea", { rows: "2", spellcheck: "false", class: "code" }, given === undefined ? "" : JSON.stringify(given)),
};

const text = (value) => (value === undefined || value === null ? undefined : String(value));

function needed(value, isRequired) {
  if (value === "" || value === undefined) return isRequired ? { fault: "Please fill this in." } : {};
  return null;
}

const READ = {
  choice: (control, _, isRequired) => needed(control.value, isRequired) ?? { value: JSON.parse(control.value) },
  choices: (control, schema, isRequired) => {
    const value = [...control.selectedOptions].map((one) => JSON.parse(one.value));
    if (!value.length && !isRequired) return {};
    return value.length < (schema.minItems ?? 0) ? { fault: `Please choose at least ${schema.minItems}.` } : { value };
  },
  number: (control, schema, isRequired) => {
    if (control.validity.badInput) return { fault: "Please give a number." };
    const value = Number(control.value);
    const missing = needed(control.value, isRequired);
    if (missing) return missing;
    if (schema.type === "integer" && !Number.isInteger(value)) return { value, fault: "Please give a whole number." };
    if (value < schema.minimum) return { value, fault: `Please give at least ${schema.minimum}.` };
    if (value > schema.maximum) return { value, fault: `Please give at most ${schema.maximum}.` };
    return { value };
  },
  boolean: (control) => ({ value: control.checked }),
  text: (control, schema, isRequired) => {
    const { value, validity, validationMessage } = control;
    const missing = needed(value, isRequired);
    if (missing) return missing;
    if (schema.pattern && !matches(schema.pattern, value)) return { value, fault: `Please use the form ${schema.pattern}.` };
    if (value.length < (schema.minLength ?? 0)) return { value, fault: `Please give at least ${schema.minLength} characters.` };
    return validity.typeMismatch ? { value, fault: validationMessage } : { value };
  },
  long: (control, schema, isRequired) => READ.text(control, schema, isRequired),
  json: (control, _, isRequired) => {
    const missing = needed(control.value.trim(), isRequired);
    if (missing) return missing;
    try {
      return { value: JSON.parse(control.value) };
    } catch (error) {
      return { fault: `Please give JSON: ${error.message}` };
    }
  },
};

function matches(pattern, value) {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true; // another dialect: the server knows
  }
}
