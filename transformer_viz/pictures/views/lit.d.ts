/** What the workbench uses of lit-html. */
export type TemplateResult = { readonly _$litType$: number };
export const nothing: unique symbol;
export function html(strings: TemplateStringsArray, ...values: unknown[]): TemplateResult;
export function render(value: unknown, container: HTMLElement): unknown;
