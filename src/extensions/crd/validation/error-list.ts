/** A list of errors with a maximum length, because a schema can contain a million errors. */
import type { FieldError } from "../../../meta/status-error.ts";

/** DIFFERS: kubernetes has no such limit. */
const ENOUGH_ERRORS = 1000;
const ENOUGH_CHARACTERS = 256 * 1024;

export interface ErrorList {
  readonly errors: FieldError[];
  characters: number;
}

export function errorList(): ErrorList {
  return { errors: [], characters: 0 };
}

export function isFull({ errors, characters }: ErrorList): boolean {
  return errors.length >= ENOUGH_ERRORS || characters >= ENOUGH_CHARACTERS;
}

/** Adds errors until the list is full, and computes no further ones. */
export function addErrors(list: ErrorList, errors: Iterable<FieldError>): void {
  if (isFull(list)) return;
  for (const error of errors) {
    list.errors.push(error);
    list.characters += error.field.length + error.message.length;
    if (isFull(list)) return;
  }
}
