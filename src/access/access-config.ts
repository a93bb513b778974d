/** The flags of authentication, authorization, flow control and admission, checked. */
import { enabledPlugins, pluginChoiceErrors } from "./admission/plugin-order.ts";
import { AUTHORIZATION_MODES, type AuthorizationMode } from "./auth/authorization-modes.ts";
import type { ReleaseName } from "../objects/catalogue/release.ts";
import type { AuthenticationSettings } from "./auth/create-authenticators.ts";
import type { InFlightSettings } from "./flowcontrol/priority-and-fairness.ts";
import { OptionError } from "../base/option-error.ts";

export interface AccessOptions {
  /** As --authorization-mode: the first that has an opinion decides. Default RBAC. */
  readonly authorizationModes?: readonly string[] | undefined;
  /** Whether strangers are let in, as system:anonymous, to be authorized as everybody is. Default true, but for AlwaysAllow. */
  readonly anonymousAuth?: boolean | undefined;
  /** Who waits for whom is said by FlowSchemas and priority levels, not by two counts. Default true. */
  readonly priorityAndFairness?: boolean | undefined;
  /** Beside those that are on by default. */
  readonly enableAdmissionPlugins?: readonly string[] | undefined;
  readonly disableAdmissionPlugins?: readonly string[] | undefined;
}

interface AccessConfig {
  readonly authorizationModes: readonly AuthorizationMode[];
  readonly anonymousAuth: boolean;
  readonly priorityAndFairness: boolean;
  /** In order. */
  readonly admissionPlugins: readonly string[];
}

/** What access control needs of a server's configuration. */
export interface AccessSettings extends AuthenticationSettings, InFlightSettings {
  readonly release: ReleaseName;
  readonly access: AccessConfig;
}

export function resolveAccess(options: AccessOptions): AccessConfig {
  const choice = { enable: options.enableAdmissionPlugins ?? [], disable: options.disableAdmissionPlugins ?? [] };
  const errors = pluginChoiceErrors(choice);
  if (errors.length > 0) throw new OptionError(errors.join("; "));
  const modes = authorizationModes(options.authorizationModes ?? ["RBAC"]);
  return {
    authorizationModes: modes,
    // As kubernetes: where everybody may do everything, strangers are only let in if somebody says so.
    anonymousAuth: options.anonymousAuth ?? !modes.includes("AlwaysAllow"),
    priorityAndFairness: options.priorityAndFairness ?? true,
    admissionPlugins: enabledPlugins(choice),
  };
}

function authorizationModes(names: readonly string[]): AuthorizationMode[] {
  if (names.length === 0) throw new OptionError("at least one --authorization-mode must be given");
  const modes: AuthorizationMode[] = [];
  for (const name of names) {
    const mode = AUTHORIZATION_MODES.find((known) => known === name);
    if (mode === undefined)
      throw new OptionError(
        `authorization-mode ${JSON.stringify(name)} is not one of those known here: ${AUTHORIZATION_MODES.join(", ")}`,
      );
    if (modes.includes(mode)) throw new OptionError(`authorization-mode ${JSON.stringify(name)} is given twice`);
    modes.push(mode);
  }
  return modes;
}
