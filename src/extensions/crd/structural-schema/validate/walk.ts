/** The state of one validation: the path of the current value in the object, and the errors found so far. */
import { goQuote } from "../../../../meta/go-quote.ts";
import { required, tooMany } from "../../../../meta/field-errors.ts";
import type { CauseReason, FieldError } from "../../../../meta/status-error.ts";
import { shownValue } from "./go-values.ts";

/** Maximum number of errors. DIFFERS: kubernetes collects all errors, but truncates the message. */
const PROBLEMS_MAX = 100;

export interface Problem {
  /** The message of the validator. As kubernetes: of several errors with the same message only the first is kept. */
  readonly text: string;
  readonly error: FieldError;
}

/** As kubernetes: the field of an error that has no field path. */
export const NO_FIELD = "<nil>";

export class Walk {
  problems: Problem[] = [];
  /** Path of the value at which the walk started; "" for a whole resource. */
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

  /** The path of the current value in messages, without the base. */
  get path(): string {
    let text = "";
    for (const step of this.#path)
      if (typeof step === "number") text += `[${step}]`;
      else text = text === "" ? step : `${text}.${step}`;
    return text;
  }

  /** Adds an error for the current value, with the text `{path} in body {what}`. */
  invalid(what: string, value: unknown, reason: CauseReason = "FieldValueInvalid"): void {
    const { path } = this;
    const text = `${path} in body ${what}`;
    this.#add(text, { field: this.#field(path), reason, message: `Invalid value: ${shownValue(value)}: ${text}` });
  }

  invalidType(expected: string, found: string): void {
    this.invalid(`must be of type ${expected}: ${goQuote(found)}`, found, "FieldValueTypeInvalid");
  }

  /** Adds an error for the current value whose text already contains the path. */
  saying(text: string, value: unknown): void {
    const field = this.#field(this.path);
    this.#add(text, { field, reason: "FieldValueInvalid", message: `Invalid value: ${shownValue(value)}: ${text}` });
  }

  /**
   * Adds an error without the path of the current value. As kubernetes: errors of junctors (allOf, anyOf, oneOf, not)
   * and of the ranges of numeric types have no field.
   */
  general(text: string): void {
    const message = `Invalid value: "": ${text}`;
    this.#add(text, { field: this.#field(""), reason: "FieldValueInvalid", message });
  }

  required(name: string): void {
    const path = `${this.path}.${name}`;
    this.#add(`${path} in body is required`, required(this.#field(path)));
  }

  /** As kubernetes: the limit counts characters, but the message says bytes. */
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

  /** Adds an error for a field that is not allowed. */
  forbidden(name: string): void {
    const { path } = this;
    const text = `${path}.${name} in body is a forbidden property`;
    const message = `Invalid value: ${shownValue(name)}: ${text}`;
    this.#add(text, { field: this.#field(path), reason: "FieldValueInvalid", message });
  }

  /** Adds errors that were collected separately, such as those of an alternative of anyOf. */
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
