/** Lists the kinds StorageVersion and StorageVersionMigration. */
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import type { Kind, KindEntry } from "../kind.ts";
import {
  alphaMigrationErrors,
  alphaMigrationStatusErrors,
  alphaMigrationUpdateErrors,
} from "./migration-rules-alpha.ts";
import { migrationErrors, migrationStatusErrors, migrationUpdateErrors } from "./migration-rules.ts";
import { storageVersionErrors, storageVersionStatusErrors } from "./storage-version-rules.ts";

const BOTH_PARTS: Kind = {
  prepareCreate: setSpecAndStatus,
  prepareUpdate: setSpecAndStatus,
  prepareStatusUpdate: setSpecAndStatus,
  keepsMetadataInStatus: true,
};

export const STORAGE_VERSION_KINDS: readonly KindEntry[] = [
  [
    "internal.apiserver.k8s.io/StorageVersion",
    { ...BOTH_PARTS, createErrors: storageVersionErrors, statusUpdateErrors: storageVersionStatusErrors },
  ],
  [
    "storagemigration.k8s.io/StorageVersionMigration",
    {
      ...BOTH_PARTS,
      createErrors: migrationErrors,
      updateErrors: migrationUpdateErrors,
      statusUpdateErrors: migrationStatusErrors,
    },
  ],
  [
    "storagemigration.k8s.io/v1alpha1/StorageVersionMigration",
    {
      ...BOTH_PARTS,
      createErrors: alphaMigrationErrors,
      updateErrors: alphaMigrationUpdateErrors,
      statusUpdateErrors: alphaMigrationStatusErrors,
    },
  ],
];

/** Adds an empty spec and status, because Go always writes them. */
function setSpecAndStatus(object: JsonObject): void {
  object["spec"] = objectAt(object, "spec");
  object["status"] = objectAt(object, "status");
}
