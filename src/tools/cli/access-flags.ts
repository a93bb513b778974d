/** The flags of `serve` for authorization, flow control and admission. */
import type { Command } from "commander";
import type { AccessOptions } from "../../access/access-config.ts";
import { AUTHORIZATION_MODES } from "../../access/auth/authorization-modes.ts";
import { booleanOption, commaList } from "./flags.ts";

export interface AccessFlags {
  readonly authorizationMode?: readonly string[];
  readonly enablePriorityAndFairness: boolean;
  readonly enableAdmissionPlugins?: readonly string[];
  readonly disableAdmissionPlugins?: readonly string[];
}

export function withAccessFlags(command: Command): Command {
  return command
    .option(
      "--authorization-mode <modes>",
      `ordered list of authorization modes: ${AUTHORIZATION_MODES.join(", ")} (default: RBAC)`,
      commaList,
    )
    .addOption(
      booleanOption(
        "--enable-priority-and-fairness",
        "queue and dispatch requests with priority and fairness; if false, only limit the concurrent reads and writes",
      ).default(true),
    )
    .option(
      "--enable-admission-plugins <names>",
      "admission plugins to enable in addition to the default ones",
      commaList,
    )
    .option("--disable-admission-plugins <names>", "admission plugins to disable", commaList);
}

export function accessOptionsOf(flags: AccessFlags): AccessOptions {
  return {
    authorizationModes: flags.authorizationMode,
    priorityAndFairness: flags.enablePriorityAndFairness,
    enableAdmissionPlugins: flags.enableAdmissionPlugins,
    disableAdmissionPlugins: flags.disableAdmissionPlugins,
  };
}
