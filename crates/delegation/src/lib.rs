//! Tasks for other agents: sub-agents with a part of the budget, several models on one question.
