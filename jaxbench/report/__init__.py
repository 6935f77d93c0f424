"""Figures and tables for people. Works on tables alone and knows no other room."""

from jaxbench.report.card_table import card_text as card_text
from jaxbench.report.card_table import print_card as print_card
from jaxbench.report.contraction_table import print_contraction as print_contraction
from jaxbench.report.figures import budget_figure as budget_figure
from jaxbench.report.figures import save_figure as save_figure
from jaxbench.report.mechanism_table import print_mechanisms as print_mechanisms
from jaxbench.report.pareto_figure import pareto_figure as pareto_figure
from jaxbench.report.policy_table import print_policies as print_policies
from jaxbench.report.study_figure import study_figure as study_figure
from jaxbench.report.submitter_table import print_submitters as print_submitters
from jaxbench.report.sweep_table import print_plan as print_plan
from jaxbench.report.sweep_table import print_sweep as print_sweep
from jaxbench.report.terminal import print_attack as print_attack
