"""Compiled primitives: everything a learner's rule may call."""

from lewa.kernels.algebra import dot, means, observe, play_largest, positive, sum_rows, total
from lewa.kernels.budget_statistics import (
    CENT,
    BudgetStatistics,
    hide_actions,
    no_statistics,
    play_densest,
    play_least_drawn,
    record_outcome,
    some_untried,
    spend_budget,
)
from lewa.kernels.dual import (
    anytime_dual_step,
    anytime_dual_step_one,
    dual_step,
    dual_step_one,
    limit_now,
    measure_unit,
    pace,
    pace_by_average,
)
from lewa.kernels.estimates import (
    confidence_bound,
    confidence_bound_of,
    confidence_bounds,
    effective_chance,
    estimate_gains,
    ix_loss,
    priced_loss,
    update_clipped_mean,
    update_mean,
    update_mean_of,
    update_means,
)
from lewa.kernels.exponential import exp, plain_exp
from lewa.kernels.forecasts import (
    Forecasts,
    count_answer,
    forecast,
    hold_share,
    keep_shares,
    no_forecasts,
    remember,
    stand_beside,
    weigh_memories,
)
from lewa.kernels.governing import book, calls_for_safety, exceeds, play_one
from lewa.kernels.inverse_gap import weigh_gaps
from lewa.kernels.jit import exact, or_plain, program, routine, rule
from lewa.kernels.linear_program import Program, no_program, solve_program
from lewa.kernels.one_line import EMPTY
from lewa.kernels.packing import compiled_form, pack, restore, unpack
from lewa.kernels.projection import (
    ease_floors,
    excess_mean,
    lift,
    prices,
    project,
    project_or_relax,
    project_or_relax_bounds,
    safe_share,
    stitched,
    temper,
)
from lewa.kernels.random_streams import (
    DICE,
    NATURE,
    keys,
    lots,
    place,
    plain_uniform,
    sample_location,
    sample_mean,
    stream_key,
    toss,
    uniform,
)
from lewa.kernels.records import annotated_types, comparable, field_types, flat, leaves, state_type
from lewa.kernels.ridge import Ridge, add_features, add_target, fade, move_target, no_ridge, ridge_mean, whiten
from lewa.kernels.serialize import dump, load
from lewa.kernels.tilting import Tilt, no_tilt, rest
from lewa.kernels.weights.fixed_share import (
    FixedShareWeights,
    fixed_share_weights,
    grow_fixed_share,
    normalize_fixed_share,
)
from lewa.kernels.weights.hedge import (
    Weights,
    draw,
    grow,
    grow_advised,
    grow_one,
    grow_priced,
    log_sum,
    mix,
    mix_advice,
    mix_one,
    normalize,
    ones,
    pick,
    refresh,
    set_one,
    set_weights,
    shrink_one,
)
from lewa.kernels.weights.of_gains import (
    AdaHedgeWeights,
    LazyWeights,
    NormalHedgeWeights,
    adahedge_weights,
    grow_adahedge,
    grow_lazy,
    grow_normalhedge,
    lazy_weights,
    normalhedge_weights,
)

normalize_lazy = normalize  # its name until version 0.4
