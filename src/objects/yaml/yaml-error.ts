/** The text is not valid YAML, or its aliases expand to too many values; the message is that of goyaml. */
export class YamlError extends Error {
  override readonly name = "YamlError";
}
