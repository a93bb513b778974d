/** Combines the defaults, validation and warnings of Services to the rules of the kind. */
import type { Kind } from "../../kind.ts";
import { completeStoredService } from "./ip-families.ts";
import { prepareService, prepareServiceUpdate, setServiceDefaults } from "./service-defaults.ts";
import { serviceErrors, serviceUpdateErrors } from "./service-rules.ts";
import { serviceStatusErrors } from "./service-status.ts";
import { serviceWarnings } from "./service-warnings.ts";

export const SERVICE: Kind = {
  setDefaults: setServiceDefaults,
  completeStored: completeStoredService,
  prepareCreate: prepareService,
  prepareUpdate: prepareServiceUpdate,
  createErrors: serviceErrors,
  updateErrors: serviceUpdateErrors,
  statusUpdateErrors: serviceStatusErrors,
  warnings: serviceWarnings,
};
