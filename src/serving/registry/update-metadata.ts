/**
 * Validates the metadata of an update. As kubernetes: each error is reported as often as the kind validates metadata.
 */
import { pathSegmentErrors } from "../../meta/names.ts";
import type { FieldError } from "../../meta/status-error.ts";
import { metadataChecks } from "./metadata-checks.ts";
import {
  metadataUpdateErrors,
  objectMetadataErrors,
  type MetadataChange,
  type MetadataRules,
} from "./metadata-validation.ts";
import type { UpdateEndpoint } from "./prepare.ts";
import type { ServedResource } from "./resource.ts";

export function* updateMetadataErrors(
  served: ServedResource,
  change: MetadataChange,
  endpoint: UpdateEndpoint,
): Generator<FieldError> {
  const { stored, groupResource, schema } = served;
  const generic = { nameRule: pathSegmentErrors, namespaced: stored.namespaced, takesAnyFinalizer: true };
  yield* objectMetadataErrors(change.metadata, generic);
  yield* metadataUpdateErrors(change, generic);
  const { ofUpdate, ofStatusUpdate, takesAnyFinalizer } = metadataChecks(groupResource, schema.isCustom === true);
  const own: MetadataRules = { ...generic, nameRule: stored.strategy.nameRule, takesAnyFinalizer };
  for (const check of endpoint === "main" ? ofUpdate : ofStatusUpdate) {
    if (check === "object") yield* objectMetadataErrors(change.metadata, own);
    else yield* metadataUpdateErrors(change, own);
  }
}
