/** The errors of plugins: 403 about the object of the request, with kubernetes' messages. */
import { objectAt, stringAt } from "../../../meta/json.ts";
import { forbidden, StatusError } from "../../../meta/status-error.ts";
import type { Attributes } from "../admission.ts";

export function admissionForbidden(attributes: Attributes, why: string): StatusError {
  const { groupVersion, resource } = attributes;
  return forbidden({ group: groupVersion.group, resource }, nameFor(attributes), why);
}

/** An object without a name is identified by its generateName. */
function nameFor({ name, object }: Attributes): string {
  if (name !== "") return name;
  const metadata = objectAt(object ?? {}, "metadata");
  return stringAt(metadata, "name") || stringAt(metadata, "generateName") || "Unknown";
}

/** An error that kubernetes returns without a reason: a bare 500 with its text. */
export function bareFailure(message: string): StatusError {
  return new StatusError("", message);
}

/** DIFFERS: kubernetes reports all of them. */
const LISTED_MAX = 100;

/** In alphabetical order; `shown` formats a name. */
export function listedNames(names: Iterable<string>, shown: (name: string) => string = String): string {
  return [...names].sort().slice(0, LISTED_MAX).map(shown).join(",");
}
