/** Creates the errors of admission plugins: by default a 403 about the object of the request, as in kubernetes. */
import { objectAt, stringAt } from "../../../meta/json.ts";
import { forbidden, StatusError } from "../../../meta/status-error.ts";
import type { Attributes } from "../admission.ts";

export function admissionForbidden(attributes: Attributes, why: string): StatusError {
  const { groupVersion, resource } = attributes;
  return forbidden({ group: groupVersion.group, resource }, nameFor(attributes), why);
}

/** The name of the object, or else its generateName. */
function nameFor({ name, object }: Attributes): string {
  if (name !== "") return name;
  const metadata = objectAt(object ?? {}, "metadata");
  return stringAt(metadata, "name") || stringAt(metadata, "generateName") || "Unknown";
}

/** A 500 whose Status has a message but no reason, as kubernetes returns for errors that are not API errors. */
export function bareFailure(message: string): StatusError {
  return new StatusError("", message);
}

/** DIFFERS: kubernetes reports all names. */
const LISTED_MAX = 100;

/** Joins the names in alphabetical order; `shown` formats each name. */
export function listedNames(names: Iterable<string>, shown: (name: string) => string = String): string {
  return [...names].sort().slice(0, LISTED_MAX).map(shown).join(",");
}
