/** What kubernetes has no role for: this server's own reports. Nobody has it until somebody binds it. */
import { mayCall, type RoleRules } from "./notation.ts";

/** Removing what a namespace holds is for cluster-admin. */
export const EVENKEEL_ROLES: RoleRules = {
  "system:evenkeel-viewer": [
    mayCall("get", "/evenkeel/v1/status /evenkeel/v1/route /evenkeel/v1/stored-versions /evenkeel/v1/rollback-check"),
  ],
};
