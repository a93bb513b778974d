/**
 * Warns about finalizers of custom resources whose names are invalid, or are not domain-qualified, so that another
 * writer could use the same name.
 */
import { qualifiedNameErrors } from "../../../meta/names.ts";

const STANDARD: ReadonlySet<string> = new Set(["orphan", "foregroundDeletion", "kubernetes"]);
const FIELD = "metadata.finalizers";

export function* finalizerWarnings(finalizers: readonly string[]): Generator<string> {
  for (const finalizer of finalizers.toSorted()) {
    const named = `${FIELD}: ${JSON.stringify(finalizer)}`;
    for (const problem of qualifiedNameErrors(finalizer)) yield `${named}: ${problem}`;
    if (finalizer.includes("/") || STANDARD.has(finalizer)) continue;
    const including = finalizer.includes(".") ? " including a path (/)" : "";
    yield `${named}: prefer a domain-qualified finalizer name${including} to avoid accidental conflicts with other finalizer writers`;
  }
}
