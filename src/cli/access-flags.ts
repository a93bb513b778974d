/** The flags that say who may do what, and who is asked before something is written. */
import type { Command } from "commander";
import { AUTHORIZATION_MODES, type AccessOptions } from "../server/access-config.ts";
import { list } from "./flags.ts";

export interface AccessFlags {
  readonly authorizationMode?: readonly string[];
  readonly enableAdmissionPlugins?: readonly string[];
  readonly disableAdmissionPlugins?: readonly string[];
}

export function withAccessFlags(command: Command): Command {
  return command
    .option(
      "--authorization-mode <modes>",
      `who decides what users may do, in order: ${AUTHORIZATION_MODES.join(", ")} (default RBAC)`,
      list,
    )
    .option("--enable-admission-plugins <names>", "admission plugins beside those that are on by default", list)
    .option("--disable-admission-plugins <names>", "admission plugins to switch off", list);
}

export function accessOptionsOf(flags: AccessFlags): AccessOptions {
  return {
    authorizationModes: flags.authorizationMode,
    enableAdmissionPlugins: flags.enableAdmissionPlugins,
    disableAdmissionPlugins: flags.disableAdmissionPlugins,
  };
}
