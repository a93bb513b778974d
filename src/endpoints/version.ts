/** /version, as clients parse it. */
export interface VersionSource {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
}

/** The first release whose /version tells what it emulates. */
const EMULATION_MINOR = 33;

export function versionDocument(release: VersionSource): Record<string, string> {
  const { major, minor } = release;
  return {
    major,
    minor,
    ...(Number(minor) < EMULATION_MINOR ? {} : emulated(major, minor)),
    gitVersion: `${release.gitVersion}+evenkeel`,
    gitCommit: "",
    gitTreeState: "",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "node",
    platform: "",
  };
}

function emulated(major: string, minor: string): Record<string, string> {
  return {
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
  };
}
