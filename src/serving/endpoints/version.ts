/** Builds the response of /version. */
import type { ReleaseGates } from "../../objects/release-gates.ts";

interface VersionSource {
  /** The version of the binary, whatever release the server behaves as. */
  readonly gitVersion: string;
  /** Replaces `gitVersion` and its suffix. */
  readonly reportedVersion?: string | undefined;
  /** The release of the binary, such as "1.36". The next two are releases in the same form. */
  readonly binary: string;
  readonly release: string;
  readonly minCompatibility: string;
  /** The release gates of the binary. */
  readonly gates: ReleaseGates;
}

export function versionDocument(source: VersionSource): Record<string, string> {
  const [major, minor] = parts(source.binary);
  return {
    major,
    minor,
    ...(source.gates.isOn("VersionReportsEmulation") ? emulated(source) : {}),
    gitVersion: source.reportedVersion ?? `${source.gitVersion}+evenkeel`,
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
