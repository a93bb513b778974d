/** The text is no YAML, or expands to too much; the message reads as goyaml's. */
export class YamlError extends Error {
  override readonly name = "YamlError";
}
