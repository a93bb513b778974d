/** /version, as clients parse it. */
export interface VersionSource {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
}

export function versionDocument(release: VersionSource): Record<string, string> {
  const { major, minor } = release;
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion: `${release.gitVersion}+evenkeel`,
    gitCommit: "",
    gitTreeState: "",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "node",
    platform: "",
  };
}
