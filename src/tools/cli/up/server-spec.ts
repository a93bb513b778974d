/** Parses a server spec: `1.36`, or `1.36+batch/v1=false` with a runtime config. */
import { DEFAULT_RELEASE } from "../../../objects/catalog/release.ts";
import { resolveOptions, type ServerOptions } from "../../../server/config.ts";
import type { RoutingOptions } from "../../../cluster/peers/peer-config.ts";
import { OptionError } from "../../../base/option-error.ts";
import { CommandFailure } from "../failure.ts";

export interface ServerSpec {
  readonly text: string;
  readonly release: string;
  readonly runtimeConfig: readonly string[];
}

export const DEFAULT_SERVERS = "1.36,1.36,1.37";
const SPEC_LENGTH_MAX = 4_096;
const USAGE_ERROR = 2;

/** The options that all servers of a cluster share. */
export type CommonOptions = Pick<ServerOptions, "featureGates" | "controllers" | "access"> & {
  readonly peers?: RoutingOptions;
};

type CheckedOptions = CommonOptions & Partial<Pick<ServerOptions, "storage">>;

export function parseServerSpec(text: string, common: CheckedOptions = {}): ServerSpec {
  if (text.length > SPEC_LENGTH_MAX) throw new CommandFailure("the server spec is too long", USAGE_ERROR);
  const [release = "", ...runtimeConfig] = text.trim().split("+");
  const spec: ServerSpec = { text: text.trim(), release, runtimeConfig };
  if (release === "" || runtimeConfig.includes(""))
    throw new CommandFailure(
      `${JSON.stringify(text)} is not a server spec such as ${DEFAULT_RELEASE} or ${DEFAULT_RELEASE}+batch/v1=false`,
      USAGE_ERROR,
    );
  try {
    resolveOptions({ release, runtimeConfig, storage: { kind: "memory" }, ...common });
  } catch (thrown) {
    if (thrown instanceof OptionError) throw new CommandFailure(`server ${spec.text}: ${thrown.message}`, USAGE_ERROR);
    throw thrown;
  }
  return spec;
}
