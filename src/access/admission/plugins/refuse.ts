/** How a plugin says no: 403 about the object of the request, in kubernetes' words. */
import { objectAt, stringAt } from "../../../meta/json.ts";
import { forbidden, StatusError } from "../../../meta/status-error.ts";
import type { Attributes } from "../admission.ts";

export function refused(attributes: Attributes, why: string): StatusError {
  const { groupVersion, resource } = attributes;
  return forbidden({ group: groupVersion.group, resource }, nameFor(attributes), why);
}

/** What has no name yet is called by what its name will begin with. */
function nameFor({ name, object }: Attributes): string {
  if (name !== "") return name;
  const metadata = objectAt(object ?? {}, "metadata");
  return stringAt(metadata, "name") || stringAt(metadata, "generateName") || "Unknown";
}

/** A failure that kubernetes hands on without a reason: a bare 500 with its text. */
export function bareFailure(message: string): StatusError {
  return new StatusError("", message);
}

/** DIFFERS: kubernetes tells all of them, however many there are. */
const TOLD_MAX = 100;

/** In the order of the alphabet; `shown` is what stands for a name. */
export function toldNames(names: Iterable<string>, shown: (name: string) => string = String): string {
  return [...names].sort().slice(0, TOLD_MAX).map(shown).join(",");
}
