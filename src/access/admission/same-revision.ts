/** Decides whether a configuration must be parsed again. */
import { jsonEquals, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";

/**
 * Whether both are the same revision of the same object. Compares their content too, because in a store that was
 * restored from a backup, a revision may have another content than before.
 */
export function isSameRevision(left: JsonObject, right: JsonObject): boolean {
  const [before, after] = [objectAt(left, "metadata"), objectAt(right, "metadata")];
  const resourceVersion = stringAt(after, "resourceVersion");
  if (resourceVersion === "" || stringAt(before, "resourceVersion") !== resourceVersion) return false;
  return stringAt(before, "uid") === stringAt(after, "uid") && jsonEquals(left, right);
}
