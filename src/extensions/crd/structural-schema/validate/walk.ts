/** Where a walk over an object is, and what it has found wrong so far. */
import { goQuote } from "../../../../meta/go-quote.ts";
import { required, tooMany } from "../../../../meta/field-errors.ts";
import type { CauseReason, FieldError } from "../../../../meta/status-error.ts";
import { shownValue } from "./go-values.ts";

/** DIFFERS: kubernetes tells all; more than these are cut off anyway. */
const PROBLEMS_MAX = 100;

export interface Problem {
  /** What the validator says; kubernetes keeps only the first of equal ones. */
  readonly text: string;
  readonly error: FieldError;
}

/** The field of an error that belongs to no field. */
export const NO_FIELD = "<nil>";

export class Walk {
  problems: Problem[] = [];
  /** Of the value the walk began with; "" for a whole resource. */
  readonly #base: string;
  readonly #path: (string | number)[] = [];

  constructor(base: string) {
    this.#base = base;
  }

  get isFull(): boolean {
    return this.problems.length >= PROBLEMS_MAX;
  }

  get isAtRoot(): boolean {
    return this.#path.length === 0;
  }

  enter(step: string | number): void {
    this.#path.push(step);
  }

  leave(): void {
    this.#path.pop();
  }

  /** As messages name it: without the base. */
  get path(): string {
    let text = "";
    for (const step of this.#path)
      if (typeof step === "number") text += `[${step}]`;
      else text = text === "" ? step : `${text}.${step}`;
    return text;
  }

  /** Against the value here: `{path} in body {what}`. */
  invalid(what: string, value: unknown, reason: CauseReason = "FieldValueInvalid"): void {
    const { path } = this;
    const text = `${path} in body ${what}`;
    this.#add(text, { field: this.#field(path), reason, message: `Invalid value: ${shownValue(value)}: ${text}` });
  }

  invalidType(expected: string, found: string): void {
    this.invalid(`must be of type ${expected}: ${goQuote(found)}`, found, "FieldValueTypeInvalid");
  }

  /** In a sentence of its own, which names the value itself. */
  saying(text: string, value: unknown): void {
    const field = this.#field(this.path);
    this.#add(text, { field, reason: "FieldValueInvalid", message: `Invalid value: ${shownValue(value)}: ${text}` });
  }

  /** What several schemas together, or the schema itself, have against the value: kubernetes names no field then. */
  general(text: string): void {
    const message = `Invalid value: "": ${text}`;
    this.#add(text, { field: this.#field(""), reason: "FieldValueInvalid", message });
  }

  required(name: string): void {
    const path = `${this.path}.${name}`;
    this.#add(`${path} in body is required`, required(this.#field(path)));
  }

  tooLong(max: number): void {
    const { path } = this;
    const message = `Too long: may not be more than ${max} ${max === 1 ? "byte" : "bytes"}`;
    this.#add(`${path} in body should be at most ${max} chars long`, {
      field: this.#field(path),
      reason: "FieldValueTooLong",
      message,
    });
  }

  tooMany(what: "items" | "properties", count: number, max: number): void {
    const { path } = this;
    this.#add(`${path} in body should have at most ${max} ${what}`, tooMany(this.#field(path), count, max));
  }

  unsupported(value: unknown, supported: string): void {
    const { path } = this;
    const message = `Unsupported value: ${shownValue(value)}: supported values: ${supported}`;
    const error: FieldError = { field: this.#field(path), reason: "FieldValueNotSupported", message };
    this.#add(`${path} in body should be one of ${supported}`, error);
  }

  /** A member that may not be there. */
  forbidden(name: string): void {
    const { path } = this;
    const text = `${path}.${name} in body is a forbidden property`;
    const message = `Invalid value: ${shownValue(name)}: ${text}`;
    this.#add(text, { field: this.#field(path), reason: "FieldValueInvalid", message });
  }

  /** What was found on the side. */
  adopt(problems: readonly Problem[]): void {
    for (const { text, error } of problems) this.#add(text, error);
  }

  #field(path: string): string {
    const name = path.startsWith(".") ? path.slice(1) : path;
    if (name === "") return this.#base === "" ? NO_FIELD : this.#base;
    return this.#base === "" ? name : `${this.#base}.${name}`;
  }

  #add(text: string, error: FieldError): void {
    if (this.isFull || this.problems.some((problem) => problem.text === text)) return;
    this.problems.push({ text, error });
  }
}
