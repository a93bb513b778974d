/** The flags that say who may do what, and who is asked before something is written. */
import type { Command } from "commander";
import type { AccessOptions } from "../../access/access-config.ts";
import { AUTHORIZATION_MODES } from "../../access/auth/authorization-modes.ts";
import { yesOrNo, commaList } from "./flags.ts";

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
      `who decides what users may do, in order: ${AUTHORIZATION_MODES.join(", ")} (default RBAC)`,
      commaList,
    )
    .addOption(
      yesOrNo(
        "--enable-priority-and-fairness",
        "requests wait for each other as FlowSchemas and priority levels say; otherwise reads and writes are counted",
      ).default(true),
    )
    .option("--enable-admission-plugins <names>", "admission plugins beside those that are on by default", commaList)
    .option("--disable-admission-plugins <names>", "admission plugins to switch off", commaList);
}

export function accessOptionsOf(flags: AccessFlags): AccessOptions {
  return {
    authorizationModes: flags.authorizationMode,
    priorityAndFairness: flags.enablePriorityAndFairness,
    enableAdmissionPlugins: flags.enableAdmissionPlugins,
    disableAdmissionPlugins: flags.disableAdmissionPlugins,
  };
}
