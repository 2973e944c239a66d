// The hooks in the engine's own test kit: a program that answers as scripted stands for Python.

import type { On, ProcessRunResult, SessionMessage } from 'claude-code'
import { expect, test, type Plugin } from 'claude-code/testing'

const USE = { tool_use_id: 't1', tool: 'Bash', input: { command: 'ls' }, text: 'long', result: {} }
const MESSAGES: SessionMessage[] = [
  { role: 'user', text: 'List the files', toolUses: [], handle: 'h0' },
  { role: 'assistant', text: '', toolUses: [USE], handle: 'h1' },
  {
    role: 'user',
    text: '',
    toolUses: [],
    toolResults: [{ tool_use_id: 't1', text: 'long', isError: false, result: {} }],
    handle: 'h2',
  },
]
const SHORT = { role: 'user', text: '', toolUses: [], toolResults: [{ tool_use_id: 't1', text: '' }] }
const SUMMARY: SessionMessage[] = [{ role: 'user', text: 'A summary', toolUses: [] }]

function ran(stdout: unknown, more: Partial<ProcessRunResult> = {}): ProcessRunResult {
  const text = typeof stdout === 'string' ? stdout : JSON.stringify(stdout)
  const whole = { isStdoutTruncated: false, isStderrTruncated: false }
  return { exitCode: 0, stdout: text, stderr: '', ...whole, ...more }
}

/** The world beneath the plugin; what it was asked and told is kept. */
function world(on: On, run: () => ProcessRunResult) {
  const seen = { argv: [] as string[][], stdin: [] as string[], toasts: [] as string[], logs: [] as string[] }
  on('process.run', (_, e) => {
    seen.argv.push([...e.argv])
    seen.stdin.push(e.init?.stdin ?? '')
    return { value: run() }
  })
  on('session.compact', () => ({ messages: SUMMARY }))
  on('ui.toast', (_, e) => {
    seen.toasts.push(e.text)
    return { value: undefined }
  })
  on('ui.log', (_, e) => {
    seen.logs.push(`${e.to}: ${e.text}`)
    return { value: undefined }
  })
  return seen
}

const ANSWER = { verdict: 'shortened', messages: [0, 1, SHORT], reason: 'kept 3/3 messages', log: ['t1:Bash:trim/lines'] }

test('untouched messages are the host\'s own, touched ones have no handle', async ($, on) => {
  const seen = world(on, () => ran(ANSWER))
  const { messages } = await $.session.compact({ trigger: 'manual', messages: MESSAGES })
  expect(messages?.map(message => message.handle)).toEqual(['h0', 'h1', undefined])
  expect(messages?.[2]?.toolResults).toEqual([{ tool_use_id: 't1', text: '', isError: false }])
  expect(seen.toasts).toEqual(['Compacted: kept 3/3 messages'])
  expect(seen.logs).toContain('debug: t1:Bash:trim/lines')
})

test('the program gets the words, the calls and the options, on its stdin', async ($, on) => {
  const seen = world(on, () => ran(ANSWER))
  await $.session.compact({ trigger: 'manual', instructions: 'keep ls', messages: MESSAGES })
  expect(seen.argv).toEqual([['python3', '-P', '-m', 'compaction.hook']])
  const question = JSON.parse(seen.stdin[0] ?? '')
  expect(question.instructions).toBe('keep ls')
  expect(question.options.strategy).toBe('balanced')
  expect(question.messages[1].toolUses).toEqual([{ tool_use_id: 't1', tool: 'Bash', input: { command: 'ls' } }])
  expect(question.messages[2].toolResults).toEqual([{ tool_use_id: 't1', text: 'long', isError: false }])
})

test('a compaction ahead of time, or in an agent, raises no toast', async ($, on) => {
  const seen = world(on, () => ran(ANSWER))
  await $.session.compact({ trigger: 'precompute', messages: MESSAGES })
  await $.session.compact({ trigger: 'auto', agentId: 'a1', messages: MESSAGES })
  expect(seen.toasts).toEqual([])
  expect(seen.logs).toContain('transcript: Compacted: kept 3/3 messages')
})

const FAILURES: [string, () => ProcessRunResult, RegExp][] = [
  ['no package', () => ran('', { exitCode: 1, stderr: "No module named 'compaction'" }), /no package claude-thread-bridge/],
  ['an old Python', () => ran('', { exitCode: 2, stderr: 'unknown option -P' }), /older than 3.11/],
  ['a crash', () => ran('', { exitCode: 1, stderr: 'Traceback\nKeyError: 3' }), /KeyError: 3/],
  ['no JSON', () => ran('hello'), /Summary instead/],
  ['half an answer', () => ran('{"mess', { isStdoutTruncated: true }), /too long/],
  ['a message that is not there', () => ran({ ...ANSWER, messages: [7] }), /message 7/],
  ['too small a gain', () => ran({ verdict: 'little', messages: null, reason: 'only 3%', log: [] }), /only 3%/],
]

for (const [what, run, reason] of FAILURES) {
  test(`the built-in summary stands after ${what}, and the reason is shown`, async ($, on) => {
    const seen = world(on, run)
    const { messages } = await $.session.compact({ trigger: 'manual', messages: MESSAGES })
    expect(messages?.map(message => message.text)).toEqual(['A summary'])
    expect(seen.toasts[0]).toMatch(reason)
  })
}

const TURN = { answer: 'Done', durationMs: 1, isAborted: false, turnId: 'n', reason: 'answer' } as const

/** Fills in the messages of a compaction that a plugin asks for, as the engine does above all plugins. */
const host: Plugin = {
  name: 'host',
  tier: 'prepend',
  register: on => {
    on('session.compact', ($, e, next) =>
      next({ ...e, messages: [{ role: 'user', text: 'List the files', toolUses: [] }] }),
    )
  },
}

/** A window filled so far; counts the compactions that reach the program, which ends when `until` does. */
function filled(
  on: On,
  percent: number | undefined,
  { until = Promise.resolve(), answer = { ...ANSWER, messages: [0] } as object } = {},
) {
  const seen = { compactions: 0, percent }
  on('turn.complete', (_, e) => ({ text: e.answer }))
  on('session.usage', () => {
    const context = { tokens: 1, window: 200_000, percent: seen.percent }
    return { value: { startedAt: 0, context, rateLimits: [], cost: { usd: 0 } } }
  })
  on('process.run', async () => {
    seen.compactions += 1
    await until
    return { value: ran(answer) }
  })
  on('ui.log', () => ({ value: undefined }))
  on('ui.toast', () => ({ value: undefined }))
  return seen
}

for (const [percent, started] of [[60, 1], [59, 0], [undefined, 0]] as const) {
  const name = `a turn that fills the window to ${percent ?? 'unknown'} percent starts ${started} compactions`
  test(name, { plugins: [host] }, async ($, on) => {
    const seen = filled(on, percent)
    expect((await $.turn.complete(TURN)).text).toBe('Done')
    expect(seen.compactions).toBe(started)
  })
}

test('the turns of agents and interrupted turns start none', { plugins: [host] }, async ($, on) => {
  const seen = filled(on, 90)
  await $.turn.complete({ ...TURN, agentId: 'a1' })
  await $.turn.complete({ ...TURN, isAborted: true, reason: 'aborted' })
  expect(seen.compactions).toBe(0)
})

const never = { plugins: [host], options: { compactAtPercent: 0 } }

test('a limit of 0 starts none', never, async ($, on) => {
  const seen = filled(on, 90)
  await $.turn.complete(TURN)
  expect(seen.compactions).toBe(0)
})

test('while one compaction runs the end of a turn starts none', { plugins: [host] }, async ($, on) => {
  let finish = () => {}
  const until = new Promise<void>(resolve => {
    finish = resolve
  })
  const seen = filled(on, 90, { until })
  const first = $.turn.complete(TURN)
  await $.turn.complete({ ...TURN, turnId: 'm' })
  finish()
  await first
  expect(seen.compactions).toBe(1)
  await $.turn.complete(TURN)
  expect(seen.compactions).toBe(2)
})

const patient = { plugins: [host], options: { onSmallGain: 'wait' } }

test('a small gain may wait until the window has filled by five percent more', patient, async ($, on) => {
  const answer = { verdict: 'little', messages: null, reason: 'only 3%', log: [] }
  const seen = filled(on, 60, { answer })
  for (const [percent, compactions] of [[60, 1], [64, 1], [65, 2], [69, 2], [20, 2], [60, 3]] as const) {
    seen.percent = percent
    await $.turn.complete(TURN)
    expect(seen.compactions).toBe(compactions)
  }
})

test('asked for by a person, a small gain ends in the summary all the same', patient, async ($, on) => {
  const seen = world(on, () => ran({ verdict: 'little', messages: null, reason: 'only 3%', log: [] }))
  const { messages } = await $.session.compact({ trigger: 'manual', messages: MESSAGES })
  expect(messages?.map(message => message.text)).toEqual(['A summary'])
  expect(seen.toasts[0]).toMatch(/only 3%/)
})
