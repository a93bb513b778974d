/** Why a database file of etcd cannot be read, so that callers can tell a bad file from a defect of the reader. */

const ADVICE = 'take a new snapshot with "etcdctl snapshot save"';

/** The message continues a sentence that begins with the name of the file. */
export class EtcdFileError extends Error {
  override readonly name = "EtcdFileError";
}

/** The error for a file whose content contradicts its format. `problem` is a clause without a period. */
export function damaged(problem: string): EtcdFileError {
  return new EtcdFileError(`is damaged: ${problem}; ${ADVICE}`);
}
