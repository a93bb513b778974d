/** Validates the flags of authentication, authorization, flow control and admission. */
import { enabledPlugins, pluginChoiceErrors } from "./admission/plugin-order.ts";
import {
  TOLERATION_SECONDS_DEFAULT,
  type DefaultTolerationOptions,
} from "./admission/plugins/default-toleration-seconds.ts";
import { AUTHORIZATION_MODES, type AuthorizationMode } from "./auth/authorization-modes.ts";
import type { ReleaseName } from "../objects/catalog/release.ts";
import type { AuthenticationSettings } from "./auth/create-authenticators.ts";
import type { InFlightSettings } from "./flowcontrol/priority-and-fairness.ts";
import {
  NO_POD_SECURITY_CONFIGURATION,
  parsePodSecurityConfiguration,
  type PodSecurityConfiguration,
} from "./admission/plugins/pod-security/configuration.ts";
import { asOption, OptionError } from "../base/option-error.ts";

export interface AccessOptions {
  /** The values of --authorization-mode. A request is allowed if one of the modes allows it. Default RBAC. */
  readonly authorizationModes?: readonly string[] | undefined;
  /**
   * Whether requests without credentials are authenticated as system:anonymous; they are then authorized like all other
   * requests. Default true, except with AlwaysAllow.
   */
  readonly anonymousAuth?: boolean | undefined;
  /**
   * Whether FlowSchemas and PriorityLevelConfigurations limit concurrency, instead of the two in-flight limits. Default
   * true.
   */
  readonly priorityAndFairness?: boolean | undefined;
  /** Plugins enabled in addition to the default plugins. */
  readonly enableAdmissionPlugins?: readonly string[] | undefined;
  readonly disableAdmissionPlugins?: readonly string[] | undefined;
  /** Whether the bootstrap tokens in Secrets authenticate. Default false. */
  readonly bootstrapTokens?: boolean | undefined;
  /** The tolerations that pods get by default. */
  readonly tolerations?: DefaultTolerationOptions | undefined;
  /** The parsed PodSecurityConfiguration. Default: only the labels of namespaces restrict pods. */
  readonly podSecurity?: unknown;
}

interface AccessConfig {
  readonly authorizationModes: readonly AuthorizationMode[];
  readonly anonymousAuth: boolean;
  readonly priorityAndFairness: boolean;
  /** The names of the enabled plugins, in the order in which the plugins run. */
  readonly admissionPlugins: readonly string[];
  readonly bootstrapTokens: boolean;
  readonly tolerations: DefaultTolerationOptions;
  readonly podSecurity: PodSecurityConfiguration;
}

/** The part of a server's configuration that access control needs. */
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
    // As kubernetes: with AlwaysAllow, anonymous requests are rejected unless --anonymous-auth enables them.
    anonymousAuth: options.anonymousAuth ?? !modes.includes("AlwaysAllow"),
    priorityAndFairness: options.priorityAndFairness ?? true,
    admissionPlugins: enabledPlugins(choice),
    bootstrapTokens: options.bootstrapTokens ?? false,
    podSecurity:
      options.podSecurity === undefined
        ? NO_POD_SECURITY_CONFIGURATION
        : asOption(() => parsePodSecurityConfiguration(options.podSecurity)),
    tolerations: options.tolerations ?? {
      notReadySeconds: TOLERATION_SECONDS_DEFAULT,
      unreachableSeconds: TOLERATION_SECONDS_DEFAULT,
    },
  };
}

function authorizationModes(names: readonly string[]): AuthorizationMode[] {
  if (names.length === 0) throw new OptionError("at least one --authorization-mode is required");
  const modes: AuthorizationMode[] = [];
  for (const name of names) {
    const mode = AUTHORIZATION_MODES.find((known) => known === name);
    if (mode === undefined)
      throw new OptionError(
        `authorization-mode ${JSON.stringify(name)} is not supported; supported modes: ${AUTHORIZATION_MODES.join(", ")}`,
      );
    if (modes.includes(mode))
      throw new OptionError(`authorization-mode ${JSON.stringify(name)} is specified more than once`);
    modes.push(mode);
  }
  return modes;
}
