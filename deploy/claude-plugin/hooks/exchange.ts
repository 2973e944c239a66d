// What goes to the Python package and what comes back, as values; `register.ts` does the rest.

import type {
  PluginOptions,
  ProcessRunResult,
  SessionCompactInput,
  SessionMessage,
} from 'claude-code'

export type Settings = {
  python: string
  compactAtPercent: number
  /** Whether a conversation of which little could go is left as it is, and not summarized. */
  isPatient: boolean
  timeoutMs: number
}

/** How a compaction ended: a new list of messages, or the reason why there is none. */
export type Outcome = {
  verdict: 'shortened' | 'little' | 'failed'
  messages: SessionMessage[] | null
  reason: string
  log: readonly string[]
}

type Answer = {
  verdict: Outcome['verdict']
  messages: readonly (number | SessionMessage)[] | null
  reason: string
  log: readonly string[]
}

const PACKAGE = 'claude-thread-bridge'

/** What the hooks themselves need of the options; the rest is for the package to read. */
export function settingsOf(options: PluginOptions): Settings {
  const python = String(options.python ?? '').trim()
  return {
    python: python === '' ? 'python3' : python,
    compactAtPercent: numberOf(options.compactAtPercent, 60),
    isPatient: options.onSmallGain === 'wait',
    timeoutMs: numberOf(options.timeoutSeconds, 120) * 1000,
  }
}

/** The program. `-P` keeps the folder of the session, which anybody may have written, off its path. */
export function commandOf({ python }: Settings): string[] {
  return [python, '-P', '-m', 'compaction.hook']
}

/** The question on its stdin: the messages without what only the host understands. */
export function questionOf(e: SessionCompactInput, options: PluginOptions): string {
  const { instructions, trigger } = e
  return JSON.stringify({ messages: e.messages.map(plain), instructions, trigger, options })
}

/** The answer on its stdout, the host's own objects in the place of their numbers. */
export function outcomeOf(
  ran: ProcessRunResult,
  messages: readonly SessionMessage[],
  settings: Settings,
): Outcome {
  if (ran.exitCode !== 0) return failed(complaint(ran.stderr, settings))
  if (ran.isStdoutTruncated) return failed('the answer is too long to be read whole')
  const answer = JSON.parse(ran.stdout) as Answer
  return {
    verdict: answer.verdict,
    messages: answer.messages === null ? null : answer.messages.map(one => own(one, messages)),
    reason: answer.reason,
    log: answer.log,
  }
}

/** The outcome where there is no answer at all. */
export function failed(reason: string): Outcome {
  return { verdict: 'failed', messages: null, reason, log: [] }
}

/** Why the program did not run to its end. */
export function errorOf(error: unknown, { python }: Settings): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.includes('failed to start') ? `there is no ${python}. ${remedy(python)}` : text
}

function complaint(stderr: string, { python }: Settings): string {
  if (/No module named '?(compaction|pydantic|httpx)/.test(stderr)) {
    return `${python} has no package ${PACKAGE}. ${remedy(python)}`
  }
  if (/[Uu]nknown option/.test(stderr)) return `${python} is older than 3.11. ${remedy(python)}`
  const lines = stderr.trim().split('\n')
  return lines[lines.length - 1] || `${python} failed without a word`
}

function remedy(python: string): string {
  return `Install it there (${python} -m pip install ${PACKAGE}) or set the option "python".`
}

function plain({ role, text, toolUses, toolResults }: SessionMessage) {
  return {
    role,
    text,
    toolUses: toolUses.map(({ tool_use_id, tool, input }) => ({ tool_use_id, tool, input })),
    toolResults: (toolResults ?? []).map(({ tool_use_id, text, isError }) => ({
      tool_use_id,
      text,
      isError,
    })),
  }
}

function own(one: number | SessionMessage, messages: readonly SessionMessage[]): SessionMessage {
  if (typeof one !== 'number') {
    const results = one.toolResults?.map(result => ({ ...result, isError: result.isError ?? false }))
    return results === undefined ? one : { ...one, toolResults: results }
  }
  const message = messages[one]
  if (message === undefined) throw new Error(`the answer names message ${one}, which is not there`)
  return message
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise
}
