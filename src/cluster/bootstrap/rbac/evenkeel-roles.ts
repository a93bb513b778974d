/**
 * The ClusterRole for reading the reports below /evenkeel/v1. Kubernetes has no such role. It has no subjects until an
 * administrator binds it.
 */
import { mayCall, type RoleRules } from "./notation.ts";

/**
 * The role does not allow purging: cluster-admin may list the objects to purge, and only members of system:masters may
 * remove them.
 */
export const EVENKEEL_ROLES: RoleRules = {
  "system:evenkeel-viewer": [
    mayCall("get", "/evenkeel/v1/status /evenkeel/v1/route /evenkeel/v1/stored-versions /evenkeel/v1/rollback-check"),
  ],
};
