// The libraries of the pages, in one place: Preact with htm instead of JSX, so that no build is needed, and signals for state.
import { h, render, type ComponentChildren, type VNode } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { batch, computed, effect, signal, untracked } from '@preact/signals'
import type { ReadonlySignal, Signal } from '@preact/signals'
import htm from 'htm'

/** A part of a page: html`<p>${text}</p>`. Texts are escaped. */
export const html = htm.bind(h) as (
  strings: TemplateStringsArray,
  ...values: readonly unknown[]
) => VNode

export {
  batch,
  computed,
  effect,
  render,
  signal,
  untracked,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
}
export type { ComponentChildren, ReadonlySignal, Signal, VNode }
