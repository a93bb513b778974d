/** The text is not YAML, or expands to too much; the message is that of goyaml. */
export class YamlError extends Error {
  override readonly name = "YamlError";
}
