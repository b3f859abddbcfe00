-- Which GPUs of this machine a local instance has and how much of each, JSON.
alter table instances add column placement text;
