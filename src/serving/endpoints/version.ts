/** /version, in the form that clients parse. */
import type { ReleaseGates } from "../../objects/release-gates.ts";

interface VersionSource {
  /** The version of the binary, whichever release it emulates. */
  readonly gitVersion: string;
  /** Releases such as "1.36". */
  readonly binary: string;
  readonly release: string;
  readonly minCompatibility: string;
  /** The gates of the binary. */
  readonly gates: ReleaseGates;
}

export function versionDocument(source: VersionSource): Record<string, string> {
  const [major, minor] = parts(source.binary);
  return {
    major,
    minor,
    ...(source.gates.isOn("VersionReportsEmulation") ? emulated(source) : {}),
    gitVersion: `${source.gitVersion}+evenkeel`,
    gitCommit: "",
    gitTreeState: "",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "node",
    platform: "",
  };
}

function emulated({ release, minCompatibility }: VersionSource): Record<string, string> {
  const [emulationMajor, emulationMinor] = parts(release);
  const [minCompatibilityMajor, minCompatibilityMinor] = parts(minCompatibility);
  return { emulationMajor, emulationMinor, minCompatibilityMajor, minCompatibilityMinor };
}

function parts(version: string): [major: string, minor: string] {
  const [major = "", minor = ""] = version.split(".");
  return [major, minor];
}
