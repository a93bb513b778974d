/** The flags of `serve` for authorization, flow control and admission. */
import type { Command } from "commander";
import type { AccessOptions } from "../../access/access-config.ts";
import { AUTHORIZATION_MODES } from "../../access/auth/authorization-modes.ts";
import { podSecurityIn } from "./admission-config.ts";
import { TOLERATION_SECONDS_DEFAULT } from "../../access/admission/plugins/default-toleration-seconds.ts";
import { booleanOption, commaList, countOrZero } from "./flags.ts";

export interface AccessFlags {
  readonly authorizationMode?: readonly string[];
  readonly enablePriorityAndFairness: boolean;
  readonly enableAdmissionPlugins?: readonly string[];
  readonly disableAdmissionPlugins?: readonly string[];
}

/** Flags that `up` does not have. */
export interface ServeAccessFlags extends AccessFlags {
  readonly anonymousAuth?: boolean;
  readonly enableBootstrapTokenAuth?: boolean;
  readonly admissionControlConfigFile?: string;
  readonly defaultNotReadyTolerationSeconds: number;
  readonly defaultUnreachableTolerationSeconds: number;
}

export function withServeAccessFlags(command: Command): Command {
  return withAccessFlags(command)
    .addOption(
      booleanOption(
        "--enable-bootstrap-token-auth",
        "accept the bootstrap tokens in Secrets of kube-system, with which nodes join the cluster",
      ),
    )
    .option(
      "--admission-control-config-file <file>",
      "configuration of the plugin PodSecurity: default policy and exemptions (AdmissionConfiguration)",
    )
    .option(
      "--default-not-ready-toleration-seconds <seconds>",
      "time for which pods tolerate a node that is not ready, by default",
      countOrZero,
      TOLERATION_SECONDS_DEFAULT,
    )
    .option(
      "--default-unreachable-toleration-seconds <seconds>",
      "time for which pods tolerate an unreachable node, by default",
      countOrZero,
      TOLERATION_SECONDS_DEFAULT,
    );
}

export function serveAccessOptionsOf(flags: ServeAccessFlags): AccessOptions {
  const { admissionControlConfigFile: configFile = "" } = flags;
  return {
    ...accessOptionsOf(flags),
    anonymousAuth: flags.anonymousAuth,
    bootstrapTokens: flags.enableBootstrapTokenAuth ?? false,
    podSecurity: configFile === "" ? undefined : podSecurityIn(configFile),
    tolerations: {
      notReadySeconds: flags.defaultNotReadyTolerationSeconds,
      unreachableSeconds: flags.defaultUnreachableTolerationSeconds,
    },
  };
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
