// Two hooks: one answers compactions in the place of the built-in summary, one starts them in time.

import type { Register } from 'claude-code'

import { commandOf, errorOf, failed, outcomeOf, questionOf, settingsOf } from './exchange'

const TOAST = { timeoutMs: 15_000 }
/** By how many percent of the window a conversation that was left as it is grows before the next try. */
const GROWTH = 5

export const register: Register = (on, options) => {
  const settings = settingsOf(options)
  let isCompacting = false
  let hasComplained = false
  let triedAt = -GROWTH

  on('session.compact', async ($, e, next) => {
    let outcome
    try {
      const ran = await $.process.run(commandOf(settings), {
        stdin: questionOf(e, options),
        timeoutMs: settings.timeoutMs,
      })
      if (ran.stderr.trim() !== '') $.ui.log(ran.stderr.trim(), { to: 'debug' })
      outcome = outcomeOf(ran, e.messages, settings)
    } catch (error) {
      if (next.signal.aborted) return { skip: 'interrupted' }
      outcome = failed(errorOf(error, settings))
    }

    const { verdict, messages, reason, log } = outcome
    // Of the main conversation, only the compaction that a turn's end started can run meanwhile.
    const isOurs = isCompacting && e.agentId === undefined
    if (verdict === 'little' && settings.isPatient && isOurs) {
      return { skip: `${reason}; there is room left` }
    }
    const text = messages === null ? `Summary instead of compaction: ${reason}` : `Compacted: ${reason}`
    for (const line of log) $.ui.log(line, { to: 'debug' })
    $.ui.log(text)
    // Nobody waits for a compaction that is made ahead of time, or in an agent.
    if (e.trigger !== 'precompute' && e.agentId === undefined) $.ui.toast(text, TOAST)
    return messages === null ? next(e) : { messages }
  })

  on('turn.complete', async ($, e, next) => {
    const isDue = settings.compactAtPercent > 0 && e.agentId === undefined && !e.isAborted
    if (!isDue || isCompacting) return next(e)
    // Taken before anything is awaited: two turns may end at once.
    isCompacting = true
    try {
      const result = await next(e)
      try {
        const { context } = await $.session.usage()
        const percent = context.percent ?? 0
        if (percent < triedAt) triedAt = -GROWTH
        if (percent < Math.max(settings.compactAtPercent, triedAt + GROWTH)) return result
        const { skip } = await $.session.compact()
        triedAt = skip === undefined ? -GROWTH : percent
      } catch (error) {
        const to = hasComplained ? 'debug' : 'transcript'
        hasComplained = true
        $.ui.log(`No compaction at the end of this turn: ${errorOf(error, settings)}`, { to })
      }
      return result
    } finally {
      isCompacting = false
    }
  })
}
